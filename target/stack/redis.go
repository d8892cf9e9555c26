package stack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisConfig says how to reach a Redis. It prints without its password.
type RedisConfig struct {
	Address  string // host:port
	Username string // empty for the default user
	Password string
	DB       int
	TLS      bool
}

// URL returns the whole as a redis:// or rediss:// URL. It contains the password.
func (c RedisConfig) URL() string {
	u := url.URL{Scheme: "redis", Host: c.Address, Path: "/" + strconv.Itoa(c.DB)}
	if c.TLS {
		u.Scheme = "rediss"
	}
	if c.Username != "" || c.Password != "" {
		u.User = url.UserPassword(c.Username, c.Password)
	}
	return u.String()
}

// String returns the address and the number of the database.
func (c RedisConfig) String() string { return c.Address + "/" + strconv.Itoa(c.DB) }

// GoString returns the same as String, so that %#v shows no password either.
func (c RedisConfig) GoString() string { return c.String() }

// LogValue implements [slog.LogValuer].
func (c RedisConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

var (
	_ fmt.Stringer   = RedisConfig{}
	_ fmt.GoStringer = RedisConfig{}
	_ slog.LogValuer = RedisConfig{}
)

// A redisServer is the Redis or Valkey of a stack.
type redisServer struct {
	name   string // of a private one's files
	config RedisConfig
	client *redis.Client // the stack's own few connections
	child  *child        // nil for one that the user named
}

func (s *Stack) startRedis(ctx context.Context, r *redisServer, addr, binary string) error {
	if addr != "" {
		return r.use(ctx, addr)
	}
	folder := filepath.Join(s.folder.path, r.name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("stack: the folder of Redis: %w", err)
	}
	if err := onFreePort(ctx, func(port int) error { return s.runRedis(ctx, r, binary, folder, port) }); err != nil {
		return err
	}
	return proveRedis(ctx, r.client, folder, r.child)
}

// runRedis starts the server on a port and waits until it answers.
func (s *Stack) runRedis(ctx context.Context, r *redisServer, binary, folder string, port int) error {
	r.config = RedisConfig{Address: "127.0.0.1:" + strconv.Itoa(port), Password: rand.Text()}
	file := filepath.Join(s.folder.path, r.name+".conf")
	if err := os.WriteFile(file, []byte(redisConf(folder, port, r.config.Password)), 0o600); err != nil {
		return fmt.Errorf("stack: prepare Redis: %w", err)
	}
	c, err := s.spawn(program{
		name: filepath.Base(binary),
		path: binary,
		args: []string{file},
		dir:  folder,
		log:  filepath.Join(s.folder.path, r.name+"-"+strconv.Itoa(port)+".log"),
	})
	if err != nil {
		return err
	}
	r.child = c
	if err := r.connect(); err != nil {
		return err
	}
	return awaitAnswer(ctx, c, r.ping)
}

// redisConf keeps everything in memory (no append-only file, no snapshots), as a Redis for locks and counters is
// commonly run. What that costs when it restarts is a thing to measure, not to hide.
func redisConf(folder string, port int, password string) string {
	return strings.Join([]string{
		"bind 127.0.0.1",
		"port " + strconv.Itoa(port),
		"protected-mode yes",
		"requirepass " + password,
		"daemonize no",
		"dir " + strconv.Quote(folder),
		"appendonly no",
		`save ""`,
	}, "\n") + "\n"
}

// use takes the Redis that the user named. Nothing is written to it here.
func (r *redisServer) use(ctx context.Context, addr string) (err error) {
	if r.config, err = parseRedis(addr); err != nil {
		return err
	}
	if err := r.connect(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, foreignLimit)
	defer cancel()
	if err := r.ping(limited); err != nil {
		return fmt.Errorf("stack: the Redis at %s does not answer: %w", r.config, err)
	}
	return nil
}

// parseRedis reads host:port or a URL. Its errors never quote it, as it may hold a password.
func parseRedis(addr string) (RedisConfig, error) {
	if strings.Contains(addr, "://") {
		o, err := redis.ParseURL(addr)
		if err != nil {
			return RedisConfig{}, errors.New("stack: the URL of Redis can't be read; " +
				"its form is redis://user:password@host:port/database, with special characters of the password as %XX")
		}
		return RedisConfig{o.Addr, o.Username, o.Password, o.DB, o.TLSConfig != nil}, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || port == "" || strings.Contains(addr, "@") {
		return RedisConfig{}, errors.New("stack: the address of Redis can't be read; " +
			"its form is host:port, or a redis:// URL")
	}
	return RedisConfig{Address: addr}, nil
}

func (r *redisServer) connect() error {
	if r.client != nil { // of a try on a port that was taken
		if err := r.client.Close(); err != nil {
			return fmt.Errorf("stack: close a connection to Redis: %w", err)
		}
	}
	o, err := redis.ParseURL(r.config.URL())
	if err != nil {
		return errors.New("stack: the address of Redis can't be read")
	}
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout = dialTimeout
	o.ContextTimeoutEnabled = true
	o.PoolSize = 4
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	r.client = redis.NewClient(o)
	return nil
}

// ping asks whether the server answers. It knocks at the port first, since the client logs every refused connection.
func (r *redisServer) ping(ctx context.Context) error {
	knock, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", r.config.Address)
	if err != nil {
		return err
	}
	return errors.Join(knock.Close(), r.client.Ping(ctx).Err())
}

func (r *redisServer) close() error {
	var err error
	if r.client != nil {
		err = r.client.Close()
	}
	return errors.Join(err, r.child.kill())
}
