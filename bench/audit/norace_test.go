//go:build !race

package audit

// raceDetector is whether the race detector watches.
const raceDetector = false
