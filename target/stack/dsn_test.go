package stack

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestTheMeaningOfStatementsIsPinned(t *testing.T) {
	const theirs = "shop:s3cret@tcp(db:3307)/shop?clientFoundRows=true&parseTime=false&loc=Local&multiStatements=true&" +
		"readTimeout=0s&interpolateParams=false&collation=latin1_swedish_ci&autocommit=0&tx_isolation=%27SERIALIZABLE%27"
	c, dropped, err := parseDSN(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"autocommit", "tx_isolation"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %q, want %q", dropped, want)
	}
	const want = "shop:s3cret@tcp(db:3307)/shop?collation=utf8mb4_bin&interpolateParams=true&parseTime=true&" +
		"readTimeout=10s&timeout=2s&writeTimeout=10s&time_zone=%27%2B00%3A00%27"
	if got := c.FormatDSN(); got != want {
		t.Errorf("the DSN is\n%s, want\n%s", got, want)
	}
	again, err := mysql.ParseDSN(c.FormatDSN())
	if err != nil || again.ClientFoundRows || again.Loc.String() != "UTC" {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

func TestRedisAddressesAreRead(t *testing.T) {
	for addr, want := range map[string]RedisConfig{
		"localhost:6379":                 {Address: "localhost:6379"},
		"[::1]:6379":                     {Address: "[::1]:6379"},
		"redis://localhost":              {Address: "localhost:6379"},
		"redis://:p%40ss@cache:7000/3":   {Address: "cache:7000", Password: "p@ss", DB: 3},
		"rediss://shop:s3cret@cache:1/0": {Address: "cache:1", Username: "shop", Password: "s3cret", TLS: true},
	} {
		got, err := parseRedis(addr)
		if err != nil || got != want {
			t.Errorf("parseRedis(%q) = %#v, %v; want %#v", addr, got, err, want)
		}
		if again, err := parseRedis(got.URL()); err != nil || again != want {
			t.Errorf("%q is written as a URL that means %#v, error %v", addr, again, err)
		}
	}
}

func TestARedisConfigPrintsWithoutItsPassword(t *testing.T) {
	c := RedisConfig{Address: "cache:7000", Username: "shop", Password: "s3cret"}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "redis", c)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), log.String()} {
		if strings.Contains(text, "s3cret") || !strings.Contains(text, "cache:7000") {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestARedactedErrorIsStillMatched(t *testing.T) {
	s := &Stack{database: &database{}, redis: &redisServer{config: RedisConfig{Password: "s3cret"}}}
	err := s.redacted(fmt.Errorf("%w: AUTH s3cret", ErrImpostor))
	if !errors.Is(err, ErrImpostor) || err.Error() != ErrImpostor.Error()+": AUTH [password]" {
		t.Errorf("error %v", err)
	}
	if plain := s.redacted(ErrForeign); plain != ErrForeign {
		t.Errorf("an error without a secret became %#v", plain)
	}
}
