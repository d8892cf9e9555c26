package strategies

import "time"

// MaxBatch is the number of orders in a batch at most.
const MaxBatch = maxBatch

// SetBatchPatience changes how long an order waits for its batch to end. No checkout may be under way.
func SetBatchPatience(s Strategy, d time.Duration) { s.(*batch).patience = d }

// BatchWaiting returns how many orders wait behind the one that leads the SKU's line, and -1 if there is no line.
func BatchWaiting(s Strategy, sku string) int {
	l := s.(*batch).lines
	l.mu.Lock()
	defer l.mu.Unlock()
	if line, ok := l.bySKU[sku]; ok {
		return len(line.waiting)
	}
	return -1
}
