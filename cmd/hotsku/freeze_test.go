package main

import (
	"context"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/stack"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// A replica that stands still must end when the stack wants it to, in order and at once: its order is sold and answered.
func TestAReplicaThatFrozeItselfCanBeEnded(t *testing.T) {
	servers, err := stack.Start(t.Context(), stack.Options{Warden: []string{"env", asCommand, program(t), "warden"}})
	stacktest.Check(t, err)
	t.Cleanup(func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	})
	stage := newStage(servers, 1)
	scenario := results.Scenario{Timeout: results.Duration(time.Minute),
		Lease: results.Lease{TTL: results.Duration(time.Second), Wait: results.Duration(time.Second), Retry: results.Duration(time.Second)},
		Stall: &results.Stall{Kind: results.StallReplica, Before: "commit", For: results.Duration(5 * time.Minute), Probability: 1}}
	command := stage.command(program(t), "replica-1", bench.Setting{Strategy: "db-conditional", Scenario: scenario, SKU: "hot", Seed: 7})
	command.Env = append(command.Env, asCommand)
	replica, err := servers.StartReplica(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	target := bench.Target{Addresses: []string{replica.Address()}, Token: stage.token}
	if err := target.CreateSKU(t.Context(), "hot", 1); err != nil {
		t.Fatal(err)
	}
	sold := make(chan int)
	go func() { sold <- checkout(t, replica.Address()) }()
	for limit := time.Now().Add(time.Minute); !stopped(t, replica.Pid()); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the replica never stood still")
		}
	}
	if err := replica.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if code := <-sold; code != http.StatusCreated {
		t.Errorf("the order that froze it was answered with %d", code)
	}
}

// checkout buys a unit and returns the status, or 0 if there was no answer.
func checkout(t *testing.T, address string) int {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+api.PathCheckouts,
		strings.NewReader(`{"sku": "hot", "quantity": 1, "customer": "me"}`))
	if err != nil {
		t.Error(err)
		return 0
	}
	request.Header.Set(api.HeaderKey, "trial/1")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// stopped reports whether the system says that a process stands still.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	return strings.HasPrefix(string(state), "T")
}
