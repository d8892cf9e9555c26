package stack

import (
	"errors"
	"fmt"
)

// ErrFewNodes means that the user named fewer further Redis processes than are wanted, or one of them twice.
var ErrFewNodes = errors.New("stack: too few independent Redis processes are named")

// checkNodes refuses options whose further Redis processes are neither named nor to be started. Beside a Redis of the
// user's own none is started: what is measured should be all theirs, or all ours.
func (o Options) checkNodes() error {
	named := len(o.RedisNodeAddrs)
	switch {
	case o.RedisNodes < 0:
		return fmt.Errorf("stack: %d further Redis processes; give 0 or more", o.RedisNodes)
	case o.RedisNodes > named && (named > 0 || o.RedisAddr != ""):
		return fmt.Errorf("%w: %d of %d", ErrFewNodes, named, o.RedisNodes)
	}
	return nil
}

// redisAddr returns the address that the user named for the Redis, which is number 0, or for a further one; empty for one
// that is to be started.
func (o Options) redisAddr(number int) string {
	switch {
	case number == 0:
		return o.RedisAddr
	case len(o.RedisNodeAddrs) == 0:
		return ""
	}
	return o.RedisNodeAddrs[number-1]
}

// newNodes returns the further Redis processes before they are started: those that the user named, or as many as are
// wanted.
func newNodes(o Options) []*redisServer {
	if o.RedisNodes == 0 {
		return nil
	}
	all := make([]*redisServer, max(o.RedisNodes, len(o.RedisNodeAddrs)))
	for i := range all {
		all[i] = &redisServer{name: fmt.Sprintf("redis-node-%d", i+1)}
	}
	return all
}

// independent refuses further Redis processes of which two are one: what one loses, the other must keep.
func (s *Stack) independent() error {
	seen := map[string]bool{}
	for _, node := range s.nodes {
		if seen[node.config.Address] {
			return fmt.Errorf("%w: %s is named twice", ErrFewNodes, node.config.Address)
		}
		seen[node.config.Address] = true
	}
	return nil
}
