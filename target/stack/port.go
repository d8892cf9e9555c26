package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// maxPorts is how many ports are tried before the start of a server is given up.
const maxPorts = 5

// errPortTaken means that another process got the port first.
var errPortTaken = errors.New("stack: the port was taken by another process")

// freePort returns a port of 127.0.0.1 that was free a moment ago. Tests put a taken one in its place.
var freePort = func() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("stack: look for a free port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// onFreePort calls start with one port after another until one wasn't taken.
func onFreePort(ctx context.Context, start func(port int) error) error {
	var err error
	for range maxPorts {
		port, portErr := freePort()
		if portErr != nil {
			return portErr
		}
		if err = start(port); !errors.Is(err, errPortTaken) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// notServing says why a server ended before it answered: errPortTaken if its log says so.
func notServing(c *child) error {
	err := fmt.Errorf("stack: %s did not start: %w", c.name, c.failure())
	if strings.Contains(strings.ToLower(err.Error()), "address already in use") {
		return errors.Join(errPortTaken, err)
	}
	return err
}
