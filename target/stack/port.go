package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

// maxPorts is how many ports are tried before the start of a server is given up.
const maxPorts = 5

// errPortTaken means that another process got the port first.
var errPortTaken = errors.New("stack: the port was taken by another process")

// Servers get ports below those that systems give to outgoing connections (Linux from 32768, others from 49152), so
// that the load of a run, ours or another's, can't take a server's port from under it.
const (
	firstPort = 15000
	pastPorts = 32000
	portTries = 100
)

// freePort returns a port of 127.0.0.1 that was free a moment ago. Tests put a taken one in its place.
var freePort = func() (int, error) {
	var err error
	for range portTries {
		port := firstPort + rand.IntN(pastPorts-firstPort)
		var l net.Listener
		if l, err = net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("stack: no free port from %d to %d in %d tries: %w", firstPort, pastPorts, portTries, err)
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
