package attack

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hotsku/hotsku/target/api"
)

var asked = order{key: "hot/7", checkout: api.Checkout{SKU: "hot", Quantity: 2, Customer: "customer-1"}}

func TestAnswerIsReadAsTheContractHasIt(t *testing.T) {
	right := `{"id":5,"sku":"hot","quantity":2,"position":9,"customer":"customer-1","idempotency_key":"hot/7","fence":4,` +
		`"replica":"a","created_at":"2026-01-02T03:04:05.000006Z"}`
	but := func(old, changed string) string { return strings.Replace(right, old, changed, 1) }
	replayed := http.Header{api.HeaderReplayed: {"true"}}
	believed := answer{outcome: api.Sold, order: 5, position: 9, fence: 4}
	again := believed
	again.outcome = api.Replayed
	for _, test := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   answer
	}{
		{"a 201 with the order asked for is a sale", 201, nil, right, believed},
		{"a marked 200 with the order asked for is a replay", 200, replayed, right, again},
		{"a 200 without the mark is unknown", 200, nil, right, answer{}},
		{"a 201 without a body is unknown", 201, nil, "", answer{trouble: notAnOrder}},
		{"a 201 with half a body is unknown", 201, nil, right[:40], answer{trouble: notAnOrder}},
		{"a 201 with something after the order is unknown", 201, nil, right + right, answer{trouble: notAnOrder}},
		{"a 201 with a page of HTML is unknown", 201, nil, "<html>", answer{trouble: notAnOrder}},
		{"a 201 with an empty object is unknown", 201, nil, "{}", answer{trouble: otherKey}},
		{"a 201 with another key is unknown", 201, nil, but("hot/7", "hot/8"), answer{trouble: otherKey}},
		{"a 201 with another SKU is unknown", 201, nil, but(`"hot"`, `"cold"`), answer{trouble: otherSKU}},
		{"a 201 with another quantity is unknown", 201, nil, but(`ty":2`, `ty":3`), answer{trouble: otherQuantity}},
		{"a replay with another key is unknown", 200, replayed, but("hot/7", "hot/8"), answer{trouble: otherKey}},
		{"a 409 with its code is sold out", 409, nil, `{"code":"sold_out"}`, answer{outcome: api.SoldOut}},
		{"a 409 of a lost lease is fenced", 409, nil, `{"code":"fenced"}`, answer{outcome: api.Fenced}},
		{"a 423 is contended", 423, nil, `{"code":"contended"}`, answer{outcome: api.Contended}},
		{"a 503 with its code is unavailable", 503, nil, `{"code":"unavailable"}`, answer{outcome: api.Unavailable}},
		{"a 503 without a code is unknown", 503, nil, "upstream gone", answer{}},
		{"a 500 is unknown", 500, nil, `{"title":"oops"}`, answer{}},
		{"a 4xx with a code for the caller is invalid", 404, nil, `{"code":"unknown_sku"}`, answer{outcome: api.Invalid}},
		{"a 4xx without a readable body is invalid", 429, nil, "slow down", answer{outcome: api.Invalid}},
		{"a redirect is unknown", 302, nil, "", answer{}},
		{"no content is unknown", 204, nil, "", answer{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := read(asked, test.status, test.header, []byte(test.body)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// Whatever a target says, a sale is believed only with the order asked for, and an unknown outcome carries no figures.
func FuzzAnswer(f *testing.F) {
	f.Add(201, true, []byte(`{"id":5,"sku":"hot","quantity":2,"position":9,"idempotency_key":"hot/7"}`))
	f.Add(200, true, []byte(`{"sku":"hot","quantity":2,"idempotency_key":"hot/7","created_at":"x"}`))
	f.Add(409, false, []byte(`{"code":"sold_out"}`))
	f.Add(500, false, []byte(`null`))
	f.Fuzz(func(t *testing.T, status int, replayed bool, body []byte) {
		header := http.Header{}
		if replayed {
			header.Set(api.HeaderReplayed, "true")
		}
		got := read(asked, status, header, body)
		if !got.outcome.Acknowledged() {
			if got.order != 0 || got.position != 0 || got.fence != 0 {
				t.Fatalf("%v carries figures: %+v", got.outcome, got)
			}
			return
		}
		var one api.Order
		if err := json.Unmarshal(body, &one); err != nil || got.trouble != "" ||
			one.Key != asked.key || one.SKU != asked.checkout.SKU || one.Quantity != asked.checkout.Quantity {
			t.Fatalf("%d %q was believed: %+v, %v", status, body, got, err)
		}
	})
}
