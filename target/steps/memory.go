package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Memory is the part of a Redis that belongs to a run: the keys that start with Prefix.
type Memory struct {
	Redis  redis.UniversalClient // not the strategy's own: its commands are nobody's steps
	Prefix string                // not empty
}

// loseLimit bounds a loss; scanBatch is about how many keys one command looks at.
const (
	loseLimit = 5 * time.Second
	scanBatch = 1000
)

// lose deletes all keys below the prefix, and no other, and returns how many there were. They are found first and then
// deleted by one command, so that nobody sees a part of them gone.
func (m Memory) lose() (lost int64, err error) {
	if m.Redis == nil || m.Prefix == "" {
		return 0, errors.New("lose the memory of Redis: no client, or no prefix")
	}
	ctx, cancel := context.WithTimeout(context.Background(), loseLimit)
	defer cancel()
	var keys []string
	each := m.Redis.Scan(ctx, 0, literal(m.Prefix)+"*", scanBatch).Iterator()
	for each.Next(ctx) {
		if strings.HasPrefix(each.Val(), m.Prefix) {
			keys = append(keys, each.Val())
		}
	}
	if err := each.Err(); err != nil {
		return 0, fmt.Errorf("lose the memory of Redis: scan: %w", err)
	}
	if len(keys) == 0 {
		return 0, nil
	}
	if lost, err = m.Redis.Unlink(ctx, keys...).Result(); err != nil {
		return 0, fmt.Errorf("lose the memory of Redis: unlink %d keys: %w", len(keys), err)
	}
	return lost, nil
}

// literal returns a pattern of Redis that stands for text alone.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `-`, `\-`).Replace(text)
}
