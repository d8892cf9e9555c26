package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestTroubleHasFewNames(t *testing.T) {
	local, remote := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40123}, &net.TCPAddr{IP: net.IPv6loopback, Port: 80}
	op := func(name string, err error) error {
		op := &net.OpError{Op: name, Net: "tcp", Source: local, Addr: remote, Err: err}
		return &url.Error{Op: "Post", URL: "http://shop", Err: op}
	}
	call := func(name string, err syscall.Errno) error { return op(name, os.NewSyscallError("connect", err)) }
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"the request's time is up", fmt.Errorf("read the answer: %w", context.DeadlineExceeded), "timeout"},
		{"a read's time is up", op("read", os.ErrDeadlineExceeded), "timeout"},
		{"a dial's time is up", op("dial", os.ErrDeadlineExceeded), "connect timeout"},
		{"nobody listens", call("dial", syscall.ECONNREFUSED), "connection refused"},
		{"the peer resets", call("read", syscall.ECONNRESET), "connection reset"},
		{"the peer has closed", call("write", syscall.EPIPE), "broken pipe"},
		{"the peer closes instead of an answer", io.EOF, "EOF"},
		{"the peer closes amid an answer", fmt.Errorf("read the answer: %w", io.ErrUnexpectedEOF), "unexpected EOF"},
		{"the process is out of files", call("dial", syscall.EMFILE), "too many open files"},
		{"the system is out of files", call("dial", syscall.ENFILE), "too many open files in system"},
		{"the ports are used up", call("dial", syscall.EADDRNOTAVAIL), "no free local port"},
		{"the port is taken", call("dial", syscall.EADDRINUSE), "local port in use"},
		{"another error keeps its text", errors.New("http: server closed"), "http: server closed"},
		{"addresses are taken out", op("read", errors.New("no route")),
			`Post "http://shop": read tcp address->address: no route`},
		{"a quotation is cut", errors.New(strings.Repeat("x", 500)), strings.Repeat("x", 200)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := trouble(test.err)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if own := strings.Contains(test.name, "out of files") || strings.Contains(test.name, "port"); ownSide(got) != own {
				t.Errorf("%q counts as the generator's own: %v", got, !own)
			}
		})
	}
}
