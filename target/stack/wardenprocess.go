package stack

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A wardenProcess is one incarnation of a Warden.
type wardenProcess struct {
	cmd  *exec.Cmd
	pipe *os.File      // its standard input; no other process may hold the writing end
	done chan struct{} // closed when it ended
	err  error         // how; read after done
}

// helloWait is the time that a new warden has to say that it listens.
const helloWait = 10 * time.Second

func newWardenProcess(command []string) (*wardenProcess, error) {
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: start the warden: %w", err)
	}
	defer in.Close()
	hello, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stack: start the warden: %w", err), pipe.Close())
	}
	defer hello.Close()
	p := &wardenProcess{cmd: exec.Command(command[0], command[1:]...), pipe: pipe, done: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, os.Stderr
	// In a session of its own no signal from the terminal reaches it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = p.cmd.Start()
	out.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stack: start the warden: %w", err), pipe.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := awaitHello(hello); err != nil {
		err = fmt.Errorf("stack: the warden command %q did not say that it listens: %w", command, err)
		return nil, errors.Join(err, p.cmd.Process.Kill(), pipe.Close())
	}
	return p, nil
}

func awaitHello(hello *os.File) error {
	if err := hello.SetReadDeadline(time.Now().Add(helloWait)); err != nil {
		return err
	}
	line, err := bufio.NewReader(hello).ReadString('\n')
	if err == nil && line != wardenHello+"\n" {
		err = fmt.Errorf("it said %q", line)
	}
	return err
}

func (p *wardenProcess) tell(n notice) error {
	_, err := p.pipe.WriteString(n.String() + "\n")
	return err
}

// close ends the pipe and waits for the warden's end.
func (p *wardenProcess) close() error {
	err := p.pipe.Close()
	select {
	case <-p.done:
		return errors.Join(err, p.err)
	case <-time.After(2 * killWait):
		return errors.Join(err, p.cmd.Process.Kill(), errors.New("stack: the warden did not end"))
	}
}
