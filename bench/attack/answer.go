package attack

import (
	"encoding/json"
	"net/http"

	"github.com/hotsku/hotsku/target/api"
)

// maxAnswer is the greatest length of an answer's body in bytes. The contract's longest answer is under 1 KiB.
const maxAnswer = 64 << 10

// What is wrong with an answer that cannot be believed.
const (
	notAnOrder    = "answer: says sold, but its body is no order"
	otherKey      = "answer: sold an order of another key"
	otherSKU      = "answer: sold another SKU"
	otherQuantity = "answer: sold another quantity"
	tooLong       = "answer: body longer than 64 KiB"
	otherProtocol = "answer: switches to another protocol"
)

// An answer is what a complete reply means for the order that it answers.
type answer struct {
	outcome  api.Outcome
	order    int64
	position int64
	fence    int64
	trouble  string // why the outcome is unknown although there was a reply
}

// read returns the meaning of a reply to one. A reply that says sold is believed only if it carries the order that was
// asked for: the ledger is searched for what it says, and a mistaken one would accuse the target of losing an order.
func read(one order, status int, header http.Header, body []byte) answer {
	outcome := api.Classify(status, header, "")
	if !outcome.Acknowledged() {
		var problem api.Problem
		// A refusal without a readable code is judged by its status alone, as the contract has it.
		if json.Unmarshal(body, &problem) != nil {
			problem.Code = ""
		}
		return answer{outcome: api.Classify(status, header, problem.Code)}
	}
	var sold api.Order
	switch err := json.Unmarshal(body, &sold); {
	case err != nil:
		return answer{trouble: notAnOrder}
	case sold.Key != one.key:
		return answer{trouble: otherKey}
	case sold.SKU != one.checkout.SKU:
		return answer{trouble: otherSKU}
	case sold.Quantity != one.checkout.Quantity:
		return answer{trouble: otherQuantity}
	}
	return answer{outcome: outcome, order: sold.ID, position: sold.Position, fence: sold.Fence}
}
