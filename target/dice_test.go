package target_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"

	"github.com/hotsku/hotsku/target/api"
)

type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }

// parse returns the path as a URL, broken as it may be: a server sees such things, too.
func parse(path string) *url.URL {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return &url.URL{Path: path}
	}
	return u
}

// dice make hostile requests from a seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) method() string { return d.one("GET", "POST", "POST", "POST", "PUT", "DELETE", "") }

func (d dice) path() string {
	return d.one(api.PathCheckouts, api.PathCheckouts, api.PathCheckouts, "/v1/inventory/"+url.PathEscape(d.text()),
		api.PathLedger+"?sku=x", api.PathTrace, api.PathExecutions, "/", "//", "/v1/../healthz", "/"+d.text())
}

func (d dice) text() string {
	letters := []rune("aZ0 \t\n\"'`;\\/%?#{}\x00\x7fé\uFFFD\U0001F600-")
	var text strings.Builder
	for range d.IntN(200) {
		text.WriteRune(letters[d.IntN(len(letters))])
	}
	return text.String()
}

func (d dice) key() string {
	if d.IntN(2) == 0 {
		return fmt.Sprint(d.Uint64())
	}
	return d.text()
}

func (d dice) body(sku string) []byte {
	good := fmt.Sprintf(`{"sku":%q,"quantity":%d,"customer":%q}`, sku, d.IntN(3)+1, "me")
	switch d.IntN(8) {
	case 0:
		return nil
	case 1:
		return []byte(good[:d.IntN(len(good))])
	case 2:
		return []byte(d.text())
	case 3:
		return []byte(good + d.text())
	case 4:
		return []byte(strings.Repeat(d.one("[", `{"sku":`, " "), 1500))
	case 5:
		return fmt.Appendf(nil, `{"sku":%q,"quantity":%d,"customer":%q}`, d.text(), d.Int64()-d.Int64(), d.text())
	case 6:
		broken := []byte(good)
		broken[d.IntN(len(broken))] = byte(d.IntN(256))
		return broken
	}
	return []byte(good)
}
