package stacktest

import (
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestTheStackIsShared(t *testing.T) {
	first := Start(t)
	if second := Start(t); first != second {
		t.Error("a second Start started a second stack")
	}
	servers, err := first.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		t.Logf("%+v", s)
	}
}
