package main

import (
	"fmt"

	"github.com/hotsku/hotsku/strategies"
)

// groups are names that stand for several strategies in a plan and on the command line.
var groups = map[string]func(strategies.Info) bool{
	"all":      func(strategies.Info) bool { return true },
	"safe":     func(i strategies.Info) bool { return i.Safe },
	"controls": func(i strategies.Info) bool { return !i.Safe },
}

// expand puts the strategies in the place of the groups' names. Other names stay as they are.
func expand(names []string) (expanded []string) {
	for _, name := range names {
		belongs, isGroup := groups[name]
		if !isGroup {
			expanded = append(expanded, name)
			continue
		}
		for _, i := range strategies.All() {
			if belongs(i) {
				expanded = append(expanded, i.Name)
			}
		}
	}
	return expanded
}

// nodesFor returns how many independent Redis processes the strategies want. Names that are not registered want none.
func nodesFor(names []string) (nodes int) {
	for _, name := range names {
		if i, err := strategies.Get(name); err == nil {
			nodes = max(nodes, i.Nodes)
		}
	}
	return nodes
}

// enoughNodes returns an error if a strategy wants Redis processes that are neither named nor going to be started.
func (s servers) enoughNodes(names []string) error {
	if s.RedisAddr == "" && len(s.RedisNodes) == 0 {
		return nil // all are private
	}
	for _, name := range names {
		i, err := strategies.Get(name)
		if err == nil && i.Nodes > len(s.RedisNodes) {
			return fmt.Errorf("the strategy %s wants %d independent Redis processes, and %d are named: name them by --redis-nodes or "+
				"$HOTSKU_REDIS_NODES, leave the strategy out, or name no Redis at all, and hotsku starts all of them",
				name, i.Nodes, len(s.RedisNodes))
		}
	}
	return nil
}
