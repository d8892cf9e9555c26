package attack_test

import (
	"fmt"
	"time"

	"github.com/hotsku/hotsku/bench/attack"
	"github.com/hotsku/hotsku/results"
)

func ExampleSchedule() {
	schedule, err := attack.Schedule(results.Constant, 4, time.Second, 0)
	fmt.Println(schedule, err)
	// Output:
	// [0s 250ms 500ms 750ms] <nil>
}
