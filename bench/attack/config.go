package attack

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// ErrConfig says that an attack cannot be as it was asked for. Nothing was sent.
var ErrConfig = errors.New("attack: invalid config")

// Config says what to send, to whom, and when.
type Config struct {
	// Name is the attack's name in the header X-Vegeta-Attack, for the target's logs; may be "".
	Name string
	// Addresses are those of the replicas, http://host:port, 1 to 256. Order k goes to address k mod their number.
	Addresses []string
	// SKU is what all orders ask for, 1 to api.MaxSKU characters.
	SKU string
	// KeyPrefix is the beginning of all idempotency keys; the key of order k is KeyPrefix and k in decimal.
	KeyPrefix string
	// Seed decides, with k, the quantity and the customer of order k, and nothing else.
	Seed uint64
	// Quantity is the greatest number of units that an order asks for, 1 to api.MaxQuantity; the least is 1.
	Quantity int
	// Schedule holds the intended offsets from time zero, ascending, as [Schedule] makes them. It is not written to.
	Schedule []time.Duration
	// Timeout is the time after its sending at which a hit without a complete answer is given up.
	Timeout time.Duration
	// MaxConnections caps the connections to each address; 0 means no cap. A hit that waits for one is sent already, and
	// its wait counts in service and response alike.
	MaxConnections int
	// Progress, if not nil, is called about every second while the attack runs, and once when it is over, always from
	// the same goroutine. It must return soon; hits do not wait for it, but the end of Run does.
	Progress func(Live)
}

// validate returns the checkout URLs of the addresses.
func (c Config) validate() ([]*url.URL, error) {
	if err := c.validateOrders(); err != nil {
		return nil, err
	}
	if err := c.validateSchedule(); err != nil {
		return nil, err
	}
	switch {
	case len(c.Addresses) == 0 || len(c.Addresses) > 256:
		return nil, fmt.Errorf("%w: %d addresses: must be 1 to 256", ErrConfig, len(c.Addresses))
	case c.Timeout <= 0:
		return nil, fmt.Errorf("%w: timeout %v: must be positive", ErrConfig, c.Timeout)
	case c.MaxConnections < 0:
		return nil, fmt.Errorf("%w: %d connections at most: must be 0 for no cap, or more", ErrConfig, c.MaxConnections)
	}
	urls := make([]*url.URL, len(c.Addresses))
	for i, address := range c.Addresses {
		u, err := url.Parse(address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil ||
			strings.TrimSuffix(u.String(), "/") != u.Scheme+"://"+u.Host {
			return nil, fmt.Errorf("%w: address %q: must be of the form http://host:port", ErrConfig, address)
		}
		u.Path = api.PathCheckouts
		urls[i] = u
	}
	return urls, nil
}

func (c Config) validateOrders() error {
	longest := len(c.KeyPrefix) + len(strconv.Itoa(len(c.Schedule)))
	switch {
	case c.SKU == "" || len(c.SKU) > api.MaxSKU:
		return fmt.Errorf("%w: SKU %q: must be 1 to %d characters", ErrConfig, c.SKU, api.MaxSKU)
	case c.Quantity < 1 || c.Quantity > api.MaxQuantity:
		return fmt.Errorf("%w: quantity %d: must be 1 to %d", ErrConfig, c.Quantity, api.MaxQuantity)
	case longest > api.MaxKey:
		return fmt.Errorf("%w: key prefix %q: keys would have %d characters, more than %d",
			ErrConfig, c.KeyPrefix, longest, api.MaxKey)
	case strings.ContainsFunc(c.KeyPrefix+c.Name, func(r rune) bool { return r < '!' || r > '~' }):
		return fmt.Errorf("%w: key prefix %q and name %q: must be of visible ASCII characters, without spaces",
			ErrConfig, c.KeyPrefix, c.Name)
	}
	return nil
}

func (c Config) validateSchedule() error {
	switch {
	case len(c.Schedule) == 0:
		return fmt.Errorf("%w: the schedule has no hits: raise the rate or lengthen the duration", ErrConfig)
	case len(c.Schedule) > MaxHits:
		return fmt.Errorf("%w: the schedule has %d hits, more than %d", ErrConfig, len(c.Schedule), MaxHits)
	case c.Schedule[0] < 0:
		return fmt.Errorf("%w: the schedule begins at %v, before time zero", ErrConfig, c.Schedule[0])
	case !slices.IsSorted(c.Schedule):
		return fmt.Errorf("%w: the schedule is not ascending", ErrConfig)
	}
	return nil
}
