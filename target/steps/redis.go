package steps

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Hook returns a hook whose commands w observes. Scripts maps the SHA-1 digest of a Lua script to the name of its step.
// Add it with AddHook, and only if w is not nil.
func Hook(w Observer, scripts map[string]string) redis.Hook { return hook{w, scripts} }

type hook struct {
	w       Observer
	scripts map[string]string
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if handshake[cmd.Name()] {
			return next(ctx, cmd)
		}
		return observe(ctx, h.w, Redis, h.name(cmd), func(s *Step) error {
			err := next(ctx, cmd)
			s.answered(cmd, err)
			return err
		})
	}
}

// ProcessPipelineHook observes a pipeline or a transaction as the one round trip that it is.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 && handshake[cmds[0].Name()] {
			return next(ctx, cmds)
		}
		return observe(ctx, h.w, Redis, "pipeline", func(*Step) error { return next(ctx, cmds) })
	}
}

// handshake holds the commands that the client sends on a new connection, whoever's order it was opened for.
var handshake = map[string]bool{"hello": true, "auth": true, "client": true, "select": true, "readonly": true}

// name returns the script's name for a script and the command's for anything else.
func (h hook) name(cmd redis.Cmder) string {
	args := cmd.Args()
	switch name := cmd.Name(); name {
	case "evalsha", "eval":
		digest := fmt.Sprint(args[1])
		if name == "eval" {
			sum := sha1.Sum([]byte(digest))
			digest = hex.EncodeToString(sum[:])
		}
		if script, ok := h.scripts[digest]; ok {
			return script
		}
		return name
	case "set":
		for _, arg := range args[3:] {
			if word, ok := arg.(string); ok && strings.EqualFold(word, "nx") {
				return acquire
			}
		}
		return name
	default:
		return name
	}
}

// answered notes what a lease's command said: nil, 0 and less are refusals, a number from an acquire is its token.
func (s *Step) answered(cmd redis.Cmder, err error) {
	switch s.Name {
	case acquire, "release", "renew":
	default:
		return
	}
	if errors.Is(err, redis.Nil) {
		s.Refused = true
		return
	}
	script, ok := cmd.(*redis.Cmd)
	if !ok || err != nil {
		return
	}
	if n, isNumber := script.Val().(int64); isNumber {
		s.Refused = n <= 0
		if s.Name == acquire && n > 0 {
			s.Token = n
		}
	}
}
