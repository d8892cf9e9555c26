package stack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollEvery is how often something that starts is asked whether it answers.
const pollEvery = 20 * time.Millisecond

// answerLimit bounds one question to a server that starts.
const answerLimit = 2 * time.Second

// awaitAnswer asks until ping succeeds. It ends when the server dies, even in the middle of a question: what took the
// server's port may accept connections and never say a word.
func awaitAnswer(ctx context.Context, c *child, ping func(context.Context) error) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-asking.Done():
		}
	}()
	last := errors.New("it was not asked yet")
	for {
		err := askOnce(asking, ping)
		if err == nil {
			return nil
		}
		if asking.Err() == nil { // else the answer says only that time is up
			last = err
		}
		select {
		case <-c.done:
			return notServing(c)
		case <-ctx.Done():
			return fmt.Errorf("stack: %s does not answer: %w (last try: %w)%s", c.name, ctx.Err(), last, c.lastWords())
		case <-time.After(pollEvery):
		}
	}
}

func askOnce(ctx context.Context, ping func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return ping(ctx)
}
