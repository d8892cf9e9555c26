// Package stack starts, proves to be ours, describes and ends what the service under test stands on: a database
// (MariaDB or MySQL), Redis (or Valkey), and the processes of the service itself, its replicas.
//
// The servers are real. They are private ones, started from the installed binaries in a folder that is thrown away,
// unless the user names others. Nothing that the stack starts outlives its parent, even when that is killed: a second
// process, the [Warden], sees it die and cleans up. So the program that uses the package must also run [RunWarden],
// under a command of its own.
package stack

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options says which servers a stack uses. With empty addresses it starts private ones.
type Options struct {
	// MySQLDSN names a database of the user's own, as go-sql-driver/mysql writes it:
	// user:password@tcp(host:port)/database. It must be empty, or have been used by hotsku before.
	MySQLDSN string
	// RedisAddr names a Redis of the user's own: host:port, or a redis:// or rediss:// URL. Only keys below
	// [Stack.KeyPrefix] are touched.
	RedisAddr string
	// RedisNodes is how many further Redis processes are wanted, independent of one another and of the first: what a lock
	// that wants a majority stands on. Where RedisAddr names the first, RedisNodeAddrs must name them.
	RedisNodes int
	// RedisNodeAddrs names such processes of the user's own, each as RedisAddr names one. With RedisNodes 0 they are not
	// used; else they must be at least so many, each on an address of its own.
	RedisNodeAddrs []string

	TempDir string   // where the private folder is made; [os.TempDir] when empty
	Warden  []string // the command line of a process that calls [RunWarden]; required
	Nice    int      // the niceness of servers and replicas, 0 to 19
	Log     *slog.Logger
}

// startLimit bounds the start of both servers, however long the caller's context lives.
const startLimit = 60 * time.Second

// A Stack is a database, a Redis and the replicas on them. Its methods may be called concurrently.
type Stack struct {
	id       string
	nice     int
	log      *slog.Logger
	folder   folder
	warden   *Warden
	database *database
	redis    *redisServer
	nodes    []*redisServer

	life     context.Context // ends when Close begins
	end      context.CancelFunc
	starting sync.WaitGroup // replicas that are being started

	mu       sync.Mutex // guards what follows
	replicas []*Replica
	closing  bool
	err      error // why the stack is no longer whole

	done      chan struct{} // closed when err is set
	closeOnce sync.Once
	closeErr  error
}

// Start starts what o doesn't name, waits until both servers answer, and proves that they may be written to. ctx
// bounds the start alone: the stack lives until Close. After an error nothing is left of it.
//
// It returns [ErrFewNodes] when too few of the further Redis processes are named, [ErrNoMariaDB] or [ErrNoRedis] when a
// server is neither named nor installed, [ErrForeign] when the named database belongs to someone else, and [ErrImpostor]
// when what answers is not what was started.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if err := o.checkNodes(); err != nil {
		return nil, err
	}
	binaries, err := findBinaries(o)
	if err != nil {
		return nil, err
	}
	s, err := newStack(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.start(ctx, o, binaries); err != nil {
		return nil, errors.Join(s.redacted(err), s.Close())
	}
	return s, nil
}

func newStack(o Options) (*Stack, error) {
	temp := o.TempDir
	if temp == "" {
		temp = os.TempDir()
	}
	// The servers report real paths, and they are compared with ours.
	temp, err := filepath.EvalSymlinks(temp)
	if err == nil {
		temp, err = filepath.Abs(temp)
	}
	if err != nil {
		return nil, fmt.Errorf("stack: the folder for temporary files: %w", err)
	}
	if strings.ContainsAny(temp, " \t\n\"'\\$`*?[]") {
		return nil, fmt.Errorf("stack: the folder for temporary files is %q, and MariaDB's installer would split or expand "+
			"that name; set TMPDIR to one without blanks, quotes and wildcards", temp)
	}
	if o.Nice < 0 || o.Nice > 19 {
		return nil, fmt.Errorf("stack: a niceness of %d; give 0 to 19", o.Nice)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	id := strings.ToLower(rand.Text())[:12]
	s := &Stack{
		id:       id,
		nice:     o.Nice,
		log:      log,
		folder:   newFolder(filepath.Join(temp, "hotsku-"+id)),
		database: &database{},
		redis:    &redisServer{name: "redis"},
		nodes:    newNodes(o),
		done:     make(chan struct{}),
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.warden, err = startWarden(o.Warden, log, s.fail)
	return s, err
}

func (s *Stack) start(ctx context.Context, o Options, b binaries) error {
	if err := s.warden.makeFolder(s.folder, 0o700); err != nil {
		return err
	}
	began := time.Now()
	if err := s.startServers(ctx, o, b); err != nil {
		return err
	}
	if err := s.independent(); err != nil {
		return err
	}
	if s.database.child != nil && filesystem(s.folder.path) == "tmpfs" {
		s.log.Warn("the database lies in memory, where a commit costs next to nothing; set TMPDIR to a folder on a disk",
			"folder", s.folder.path)
	}
	s.watch(s.database.child)
	for _, r := range s.allRedis() {
		s.watch(r.child)
	}
	s.log.Info("servers are ready", "run", s.id, "after", time.Since(began).Round(time.Millisecond))
	return nil
}

// startServers starts all servers at once, or connects to those that are named. The first that fails ends it for all.
func (s *Stack) startServers(ctx context.Context, o Options, b binaries) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	starts := []func() error{func() error { return s.startDatabase(ctx, o.MySQLDSN, b.database) }}
	for i, r := range s.allRedis() {
		addr := o.redisAddr(i)
		starts = append(starts, func() error { return s.startRedis(ctx, r, addr, b.redis) })
	}
	errs := make([]error, len(starts))
	var wg sync.WaitGroup
	for i, start := range starts {
		wg.Go(func() {
			if errs[i] = start(); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return firstCause(errs)
}

// allRedis lists the Redis and the further Redis processes.
func (s *Stack) allRedis() []*redisServer { return append([]*redisServer{s.redis}, s.nodes...) }

// firstCause drops the errors of those that were cancelled because another one failed.
func firstCause(errs []error) error {
	var causes []error
	var cancelled error
	for _, err := range errs {
		if errors.Is(err, context.Canceled) {
			cancelled = err
		} else {
			causes = append(causes, err)
		}
	}
	return cmp.Or(errors.Join(causes...), cancelled)
}

// watch makes the death of a server known, unless the stack itself ended it.
func (s *Stack) watch(c *child) {
	if c == nil {
		return
	}
	go func() {
		<-c.done
		s.fail(fmt.Errorf("stack: %s ended by itself: %w", c.name, c.failure()))
	}()
}

// fail records the first reason why the stack is no longer whole.
func (s *Stack) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.err != nil {
		return
	}
	s.err = s.redacted(err)
	close(s.done)
	s.log.Error("the stack is no longer whole", "err", s.err)
}

// Done returns a channel that is closed when a server or the warden died by itself. Err then says which.
func (s *Stack) Done() <-chan struct{} { return s.done }

// Err says why the stack is no longer whole. It returns nil while it is; to be closed is not to be broken.
func (s *Stack) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// RunID is the random name of this stack: lower-case letters and digits.
func (s *Stack) RunID() string { return s.id }

// KeyPrefix is what every Redis key of the run must start with: "hotsku:<run id>:".
func (s *Stack) KeyPrefix() string { return "hotsku:" + s.id + ":" }

// DSN is the data source name for replicas. It contains the password: hand it on by environment or a file of mode
// 0600, never by argument, log or record.
func (s *Stack) DSN() string { return s.database.config.FormatDSN() }

// Redis says how to reach the Redis.
func (s *Stack) Redis() RedisConfig { return s.redis.config }

// RedisNodes says how to reach the further Redis processes, of which Options asked for some.
func (s *Stack) RedisNodes() []RedisConfig {
	var all []RedisConfig
	for _, node := range s.nodes {
		all = append(all, node.config)
	}
	return all
}

// Warden is the process that cleans up when this one is killed.
func (s *Stack) Warden() *Warden { return s.warden }

// Folder is the stack's private folder, of mode 0700. Close removes it.
func (s *Stack) Folder() string { return s.folder.path }

// secrets lists what must not appear in messages.
func (s *Stack) secrets() []string {
	var list []string
	if c := s.database.config; c != nil {
		list = append(list, c.Passwd)
	}
	for _, r := range s.allRedis() {
		list = append(list, r.config.Password)
	}
	return list
}
