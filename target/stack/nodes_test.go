package stack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRedisNodesAreIndependent(t *testing.T) {
	s := sharedStack(t)
	if n := len(s.RedisNodes()); n != 2 {
		t.Fatalf("%d further Redis processes, want 2", n)
	}
	all := s.allRedis()
	for i, r := range all {
		if err := r.client.Set(t.Context(), s.KeyPrefix()+"whose", i, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range all {
		if whose, err := r.client.Get(t.Context(), s.KeyPrefix()+"whose").Int(); err != nil || whose != i {
			t.Errorf("%s holds what was written to number %d (%v)", r.config, whose, err)
		}
		for _, other := range all[:i] {
			if r.config.Address == other.config.Address || r.config.Password == other.config.Password || r.child.pid == other.child.pid {
				t.Errorf("%s and %s share an address, a password or a process", r.config, other.config)
			}
		}
	}
}

func TestARedisNodeThatDiesIsNoticed(t *testing.T) {
	s := testStack(t, Options{RedisNodes: 1})
	if err := s.nodes[0].child.kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed that a further Redis is gone")
	}
}

// A private stack plays the servers of the user's own here.
func TestNamedRedisNodes(t *testing.T) {
	theirs := testStack(t, Options{RedisNodes: 3})
	var addrs []string
	for _, node := range theirs.RedisNodes() {
		addrs = append(addrs, node.URL())
	}
	start := func(o Options) (*Stack, error) {
		o.MySQLDSN, o.TempDir, o.Warden = theirs.DSN(), t.TempDir(), wardenCommand()
		s, err := Start(t.Context(), o)
		if s != nil {
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		return s, err
	}
	for name, o := range map[string]Options{
		"beside a named Redis":   {RedisAddr: theirs.Redis().URL(), RedisNodes: 3, RedisNodeAddrs: addrs},
		"beside a private Redis": {RedisNodes: 3, RedisNodeAddrs: addrs},
		"more than are wanted":   {RedisNodes: 2, RedisNodeAddrs: addrs},
	} {
		s, err := start(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := fmt.Sprint(s.RedisNodes()), fmt.Sprint(theirs.RedisNodes()); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		servers, err := s.Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range servers[2:] {
			if server.Private || server.Store != "redis node" {
				t.Errorf("%s: described as %+v", name, server)
			}
		}
	}
	if s, err := start(Options{RedisAddr: theirs.Redis().URL(), RedisNodeAddrs: addrs}); err != nil || len(s.RedisNodes()) != 0 {
		t.Errorf("named, and none is wanted: %v", err)
	}
	for name, o := range map[string]Options{
		"none is named beside a named Redis": {RedisAddr: theirs.Redis().URL(), RedisNodes: 3},
		"too few are named":                  {RedisNodes: 3, RedisNodeAddrs: addrs[:2]},
		"one is named twice":                 {RedisNodes: 3, RedisNodeAddrs: []string{addrs[0], addrs[1], addrs[0]}},
	} {
		_, err := start(o)
		if !errors.Is(err, ErrFewNodes) {
			t.Errorf("%s: %v, want %v", name, err, ErrFewNodes)
		}
		for _, secret := range theirs.secrets() {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows a password: %v", name, err)
			}
		}
	}
}

func TestANamedRedisNodeThatDoesNotAnswerIsTold(t *testing.T) {
	needServers(t)
	_, err := Start(t.Context(), Options{RedisNodes: 1, RedisNodeAddrs: []string{"redis://:s3cret@127.0.0.1:1"},
		TempDir: t.TempDir(), Warden: wardenCommand()})
	if err == nil || !strings.Contains(err.Error(), "the Redis at 127.0.0.1:1") || strings.Contains(err.Error(), "cret") {
		t.Errorf("%v, want it to name the address and keep the password", err)
	}
}
