package strategies

import "time"

// No test is about these limits, and a machine that stands still for a moment must fail none.
func init() { releaseTimeout, subscribeTimeout = time.Minute, time.Minute }
