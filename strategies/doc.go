// Package strategies holds the ways to sell a limited stock to orders that arrive concurrently, one file each.
//
// A strategy decides how the stock is guarded and nothing else. Its file shows every statement and every command that
// touches the stock, and the doc comment of its type says how it works, what it guarantees, what breaks it, what it costs,
// when to pick it and who is known to use it; [Describe] returns that comment part by part. An order is for one SKU: several
// SKUs in one order are out of scope.
//
// The package imports nothing of hotsku, so that it can be copied without the rest. What a strategy shares with others goes
// along with its file: strategy.go and sale.go with all of them, turn.go with those that wait, lease.go and its scripts with
// the leases, fair_line.go with fair-lock-fence, queue_stream.go and mailbox.go with queue, line.go with batch, loading.go with
// the counters in Redis. None of these holds SQL that takes from the stock; refusal in sale.go reads it, to tell why an UPDATE
// touched no row.
//
// # What the clients must be set to
//
// The strategies rely on settings of the clients that they are given:
//
//   - The Redis client must not repeat commands by itself (go-redis: MaxRetries -1). A repeated SET NX meets its own lease
//     and takes it for another's, a repeated decrement counts twice.
//   - It must heed the context (ContextTimeoutEnabled), and have short timeouts: a checkout has to fail closed quickly.
//   - The database driver must report changed rows, not matched ones (clientFoundRows=false), which is its default.
//   - innodb_lock_wait_timeout should be a few seconds: the wait limit of a strategy is looked at between tries, and the
//     server's default lets one try wait for 50 s.
//   - skip-locked and buckets use READ COMMITTED, which a server with binlog_format=STATEMENT refuses.
//
// # In which order to read
//
// First the mistake itself: none reads the stock and writes it back, none-decrement checks it and then takes from it without
// a condition. Then what is often put around the mistake instead of mending it. All of these are controls, which the audit
// must catch:
//
//   - process-mutex is right in one process and wrong in two.
//   - lock-only is a good lease around the mistake. lock-plain-del, lock-after-snapshot and lock-before-commit each get one
//     detail of it wrong. lock-renewed and redlock are its two usual improvements, and break by what they leave as it was.
//   - lock-fence-write fences the write alone, which does not save what was read before.
//   - redis-counter keeps the stock in Redis, and so two truths.
//
// Then what holds:
//
//   - db-conditional is the condition in the UPDATE, on which most of the others rest. Read it even if you read no other.
//   - for-update, optimistic, serializable and advisory-lock are the database's other means to the same end.
//   - lock-conditional, lock-fence, fair-lock-fence and lock-fence-register are what a lease is good for once nothing
//     depends on it.
//   - batch, buckets, skip-locked and queue are meant to sell more of one SKU than one line of commits can.
//   - redis-reserve lets Redis turn the crowd away and the database decide.
//
// # When Redis loses its memory
//
// All keys may be gone at any moment: by a restart, a failover to a replica that lagged behind, or eviction. What that does
// depends on what a strategy keeps there:
//
//   - A lease that is lost lets a second holder in while the first is at work. A strategy that has nothing but the lease
//     oversells. Those that claim to be safe have the word of the database besides, and lose time alone.
//   - A fence counter that is lost starts again below the token in the database. Every sale is refused, with [ErrFenced],
//     until a sale that was refused has raised the counter to the database's token. Nothing is oversold meanwhile.
//   - A counter of units that is lost is loaded from the inventory row again. It then holds the units of orders that are on
//     their way from Redis to the database once more: redis-counter sells those twice, and in redis-reserve the condition in
//     the UPDATE refuses them.
//   - A queue or a line of waiters that is lost is empty. The orders in it find out when their wait is over, by which time
//     they are refused, sold to after all, or unknown, as the strategy's comment says; the order of arrival is lost.
//   - A strategy that keeps nothing in Redis notices nothing.
//
// A Redis that does not answer is another matter: what needs it refuses every order with [ErrUnavailable], within one short
// timeout, and never sells without it.
//
// # What is the same for all
//
//   - A sale is one database transaction: the stock first, then the order's row and its outbox rows, written through one
//     helper in one order of statements. Strategies can be compared because nothing else differs.
//   - The position is free: sold = LAST_INSERT_ID(sold + n) hands it back with the answer to the UPDATE, and who reads the
//     stock first reads it along. Only a strategy that says so ([Info.Unordered]) has none.
//   - A transaction is given up at its first error, whatever that was: the server may have rolled it back already and run
//     the next statement outside of it, or would commit the half that went before. Whatever is tried again is tried in a new
//     one, a bounded number of times.
//   - An error of COMMIT itself means that the outcome is unknown. Any error before means surely not sold.
//   - A lease is held until after COMMIT, and released by comparing a random owner, under a context of its own with a time
//     limit: a release that is cancelled with its request leaves the lease until it expires. The controls that are about
//     this break the rule on purpose.
//   - Every key in Redis has a prefix, ours or Laravel's, and an end, a day after its last use at the latest.
package strategies
