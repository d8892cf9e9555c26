package bench

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a plan's file. No plan comes near them; a hostile one, or a file that is no plan at all, should cost no
// more than a look.
const (
	maxPlan  = 1 << 20 // bytes
	maxDepth = 20      // brackets within brackets
)

// wholeNumbers are the keys whose values the decoder would cut to a whole number in silence.
var wholeNumbers = map[string]bool{"seed": true, "blocks": true, "retries": true, "stock": true, "quantity": true, "strikes": true}

// harmless refuses what the decoder would take at great cost or with another meaning: aliases, which grow without
// bound, deep nesting, a second document, a fraction for a whole number.
func harmless(text []byte) error {
	if len(text) > maxPlan {
		return fmt.Errorf("a plan has at most %d bytes, not %d", maxPlan, len(text))
	}
	if err := shallow(text); err != nil {
		return err
	}
	documents := 0
	for _, t := range lexer.Tokenize(string(text)) {
		switch {
		case t.Type == token.AnchorType || t.Type == token.AliasType:
			return misplaced(t, "anchors and aliases are not taken; write the value out")
		case t.Type == token.DocumentHeaderType:
			if documents++; documents > 1 {
				return misplaced(t, "a plan is one YAML document")
			}
		case t.Type == token.FloatType && t.Prev != nil && t.Prev.Type == token.MappingValueType &&
			t.Prev.Prev != nil && wholeNumbers[t.Prev.Prev.Value]:
			return misplaced(t, t.Prev.Prev.Value+" must be a whole number, not "+t.Value)
		}
	}
	return nil
}

// shallow counts opening brackets without regard to quotes, which is exact enough for a bound.
func shallow(text []byte) error {
	depth, line := 0, 1
	for _, b := range text {
		switch b {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '\n':
			line++
		}
		if depth > maxDepth {
			return fmt.Errorf("[%d] brackets are nested more than %d deep", line, maxDepth)
		}
	}
	return nil
}

func misplaced(t *token.Token, what string) error {
	return fmt.Errorf("[%d:%d] %s", t.Position.Line, t.Position.Column, what)
}
