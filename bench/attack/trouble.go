package attack

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"syscall"
)

// What a client meets instead of an answer, in few words that are the same for all hits that met it.
const (
	timedOut       = "timeout"
	dialTimedOut   = "connect timeout"
	cancelled      = "cancelled"
	refused        = "connection refused"
	reset          = "connection reset"
	brokenPipe     = "broken pipe"
	closed         = "EOF"
	cutShort       = "unexpected EOF"
	processFiles   = "too many open files"
	systemFiles    = "too many open files in system"
	noFreePort     = "no free local port"
	localPortInUse = "local port in use"
)

var troubles = []struct {
	err  error
	name string
}{
	{context.DeadlineExceeded, timedOut},
	{os.ErrDeadlineExceeded, timedOut},
	{syscall.EMFILE, processFiles},
	{syscall.ENFILE, systemFiles},
	{syscall.EADDRNOTAVAIL, noFreePort},
	{syscall.EADDRINUSE, localPortInUse},
	{syscall.ECONNREFUSED, refused},
	{syscall.ECONNRESET, reset},
	{syscall.EPIPE, brokenPipe},
	{io.EOF, closed},
	{io.ErrUnexpectedEOF, cutShort},
}

// address matches an IPv4 or bracketed IPv6 address and its port, which would make every message a different one.
var address = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.%]+\])(:\d+)?`)

// maxTrouble is the greatest length of a name that is taken from an error as it is. A malformed reply may be quoted in
// it, at any length.
const maxTrouble = 200

// trouble names what err says. Of an error that it does not know, it keeps the text without addresses.
func trouble(err error) string {
	// A dial that timed out sent nothing, unlike a request that did; both match context.DeadlineExceeded.
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && op.Timeout() {
		return dialTimedOut
	}
	for _, t := range troubles {
		if errors.Is(err, t.err) {
			return t.name
		}
	}
	text := address.ReplaceAllString(err.Error(), "address")
	return text[:min(len(text), maxTrouble)]
}

// ownSide reports whether a named trouble is the generator's own: out of file descriptors or of ports.
func ownSide(name string) bool {
	switch name {
	case processFiles, systemFiles, noFreePort, localPortInUse:
		return true
	}
	return false
}
