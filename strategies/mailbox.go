package strategies

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A mailbox is where the orders of one process get what others publish for them: one Redis channel for all of them, over
// one connection. A message is the id of the one who expects it, a blank, and the text.
//
// Redis delivers a message at most once: to whoever is connected at that moment, and to nobody else. Whoever waits for one
// must therefore have another way to find out, and PUBLISH tells the sender whether a process was there to hear it.
type mailbox struct {
	redis   redis.UniversalClient
	channel string

	mu      sync.Mutex // guards what follows
	pubsub  *redis.PubSub
	done    chan struct{} // closed when the reader has ended
	waiting map[string]chan string
	gap     chan struct{} // closed when messages may have been missed, and made anew
}

// newMailbox returns a mailbox on a channel of its own. It subscribes at the first use.
func (e Env) newMailbox() *mailbox {
	return &mailbox{
		redis: e.Redis, channel: e.Prefix + "mail:" + rand.Text(),
		waiting: map[string]chan string{}, gap: make(chan struct{}),
	}
}

// subscribeTimeout bounds the wait for Redis to confirm the subscription. Only tests change it.
var subscribeTimeout = 250 * time.Millisecond

// open subscribes, unless that is done already. Its error matches [ErrUnavailable].
func (m *mailbox) open(ctx context.Context) error {
	m.mu.Lock()
	opened := m.pubsub != nil
	m.mu.Unlock()
	if opened {
		return nil
	}
	// Outside the lock: with Redis gone all orders find that out at once, not one after the other.
	if err := m.redis.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("%w: subscribe: %w", ErrUnavailable, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pubsub != nil {
		return nil
	}
	// The subscription outlives the order that happened to need it first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subscribeTimeout)
	defer cancel()
	pubsub := m.redis.Subscribe(ctx, m.channel)
	if _, err := pubsub.Receive(ctx); err != nil {
		_ = pubsub.Close() // it never worked
		return fmt.Errorf("%w: subscribe: %w", ErrUnavailable, err)
	}
	m.pubsub, m.done = pubsub, make(chan struct{})
	go m.read(pubsub.ChannelWithSubscriptions(), m.done)
	return nil
}

// read hands the messages out until the subscription is closed. A message that nobody expects any more is dropped.
func (m *mailbox) read(received <-chan any, done chan<- struct{}) {
	defer close(done)
	for r := range received {
		switch r := r.(type) {
		case *redis.Message:
			m.deliver(r.Payload)
		case *redis.Subscription:
			m.connected()
		}
	}
}

// connected wakes everybody after the connection was lost and made anew.
func (m *mailbox) connected() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.gap)
	m.gap = make(chan struct{})
}

func (m *mailbox) deliver(message string) {
	id, text, _ := strings.Cut(message, " ")
	m.mu.Lock()
	defer m.mu.Unlock()
	if box, ok := m.waiting[id]; ok {
		select {
		case box <- text:
		default: // it has one already, and the first is as good
		}
	}
}

// missed returns a channel that is closed once messages may have been missed, because the connection was lost and made
// anew. Call it before asking for what a message would have told: so no loss goes unnoticed in between.
func (m *mailbox) missed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gap
}

// expect returns where the next message for id arrives. Call forget when it is not expected any more.
func (m *mailbox) expect(id string) (message <-chan string, forget func()) {
	box := make(chan string, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[id] = box
	return box, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, id)
	}
}

// Close ends the subscription and waits for its reader.
func (m *mailbox) Close() error {
	m.mu.Lock()
	pubsub := m.pubsub
	m.mu.Unlock()
	if pubsub == nil {
		return nil
	}
	err := pubsub.Close()
	<-m.done
	return err
}
