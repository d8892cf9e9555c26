package strategies

import "time"

// In tests a command may take as long as the slowest machine needs: what they are about is not how quickly one gives up.
func init() { releaseTimeout, subscribeTimeout = time.Minute, time.Minute }
