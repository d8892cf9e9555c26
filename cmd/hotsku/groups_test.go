package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/stack"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// withNodes is the environment under which this test binary, as the command hotsku, has the strategy wants-nodes.
const withNodes = "HOTSKU_TEST_NODES=1"

func init() {
	if slices.Contains(os.Environ(), withNodes) {
		registerWantsNodes()
	}
}

var registerWantsNodes = sync.OnceFunc(func() {
	strategies.Register(strategies.Info{
		Name: "wants-nodes", Doc: "sells as db-conditional does, if three independent Redis processes answer", Safe: true, Nodes: 3,
		New: func(e strategies.Env) (strategies.Strategy, error) {
			info, err := strategies.Get("db-conditional")
			if err != nil {
				return nil, err
			}
			sells, err := info.New(e)
			return wantsNodes{e, sells}, err
		},
	})
})

type wantsNodes struct {
	strategies.Env
	strategies.Strategy
}

func (s wantsNodes) Checkout(ctx context.Context, o strategies.Order) (strategies.Receipt, error) {
	for i, node := range s.Nodes {
		if err := node.Ping(ctx).Err(); err != nil {
			return strategies.Receipt{}, fmt.Errorf("%w: node %d: %w", strategies.ErrUnavailable, i, err)
		}
	}
	if len(s.Nodes) != 3 {
		return strategies.Receipt{}, fmt.Errorf("%w: %d nodes", strategies.ErrUnavailable, len(s.Nodes))
	}
	return s.Strategy.Checkout(ctx, o)
}

func TestGroupsStandForTheirStrategies(t *testing.T) {
	var all, safe, controls []string
	for _, i := range strategies.All() {
		all = append(all, i.Name)
		if i.Safe {
			safe = append(safe, i.Name)
		} else {
			controls = append(controls, i.Name)
		}
		if _, isGroup := groups[i.Name]; isGroup {
			t.Errorf("the strategy %s has the name of a group", i.Name)
		}
	}
	for name, row := range map[string]struct{ names, want []string }{
		"all":                                {[]string{"all"}, all},
		"the safe ones":                      {[]string{"safe"}, safe},
		"the controls, and one that is safe": {[]string{"controls", "db-conditional"}, append(slices.Clone(controls), "db-conditional")},
		"controls and safe are all":          {[]string{"controls", "safe"}, all},
		"names that are no group's":          {[]string{"luck", "none"}, []string{"luck", "none"}},
		"nothing":                            {nil, nil},
	} {
		if got := expand(row.names); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestTooFewNamedRedisNodesAreAMistakeInTheCommandLine(t *testing.T) {
	registerWantsNodes()
	for name, row := range map[string]struct {
		servers servers
		want    string // in the error; empty for none
	}{
		"all servers are private":              {servers{}, ""},
		"a named database, Redis is private":   {servers{MySQLDSN: "u:p@tcp(127.0.0.1:1)/x"}, ""},
		"a named Redis and no nodes":           {servers{RedisAddr: "127.0.0.1:1"}, "the strategy wants-nodes wants 3 independent Redis processes, and 0 are named"},
		"a named Redis and too few nodes":      {servers{RedisAddr: "127.0.0.1:1", RedisNodes: []string{"a:1", "b:1"}}, "and 2 are named"},
		"too few nodes beside a private one":   {servers{RedisNodes: []string{"a:1", "b:1"}}, "and 2 are named"},
		"a named Redis and nodes enough":       {servers{RedisAddr: "127.0.0.1:1", RedisNodes: []string{"a:1", "b:1", "c:1"}}, ""},
		"nodes beside a Redis that is private": {servers{RedisNodes: []string{"a:1", "b:1", "c:1"}}, ""},
	} {
		err := row.servers.enoughNodes([]string{"none", "wants-nodes"})
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
		if err := row.servers.enoughNodes([]string{"none", "lock-fence"}); err != nil {
			t.Errorf("%s, and none wants any: %v", name, err)
		}
	}
	var out, said strings.Builder
	code := run(t.Context(), []string{"load", "--plan", "quick", "--strategies", "wants-nodes", "--redis-addr", "redis://:secret@127.0.0.1:1"}, &out, &said)
	if code != results.ExitUsage || !strings.Contains(said.String(), "name them by --redis-nodes or $HOTSKU_REDIS_NODES") {
		t.Errorf("%d: %s", code, said.String())
	}
}

// The further Redis processes are there for the strategies that want them, and for no others.
func TestARunHasTheRedisNodesThatItsStrategiesWant(t *testing.T) {
	theirs, err := stack.Start(t.Context(), stack.Options{RedisNodes: 3, Warden: []string{"env", asCommand, program(t), "warden"}})
	stacktest.Check(t, err)
	t.Cleanup(func() {
		if err := theirs.Close(); err != nil {
			t.Error(err)
		}
	})
	named := []string{"HOTSKU_MYSQL_DSN=" + theirs.DSN(), "HOTSKU_REDIS_ADDR=" + theirs.Redis().URL(),
		"HOTSKU_REDIS_NODES=" + strings.Join(nodeURLs(theirs), ",")}
	private := []string{"HOTSKU_MYSQL_DSN=", "HOTSKU_REDIS_ADDR=", "HOTSKU_REDIS_NODES="}
	for name, row := range map[string]struct {
		strategy string
		env      []string
		nodes    int
	}{
		"private, and wanted":   {"wants-nodes", private, 3},
		"private, not wanted":   {"db-conditional", private, 0},
		"named, and wanted":     {"wants-nodes", named, 3},
		"named, and not wanted": {"db-conditional", named, 0},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			command := exec.CommandContext(t.Context(), program(t), "load", "--plan", plan(t, row.strategy, 1), "--out", out)
			command.Env = append(append(os.Environ(), asCommand, withNodes), row.env...)
			if said, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			nodes := 0
			for _, server := range onlyRun(t, out).Run().Servers {
				if server.Store == "redis node" {
					nodes++
					if server.Private != slices.Contains(row.env, "HOTSKU_REDIS_NODES=") {
						t.Errorf("described as %+v", server)
					}
				}
			}
			if nodes != row.nodes {
				t.Errorf("%d further Redis processes are recorded, want %d", nodes, row.nodes)
			}
			for _, node := range theirs.RedisNodes() {
				noSecrets(t, out, theirs.DSN(), node.Password)
			}
		})
	}
}
