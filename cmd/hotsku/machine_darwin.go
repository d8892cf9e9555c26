package main

import "golang.org/x/sys/unix"

// processor returns the model of the processor and the bytes of memory, as far as sysctl tells them.
func processor() (model string, memory int64) {
	if name, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		model = name
	}
	if size, err := unix.SysctlUint64("hw.memsize"); err == nil {
		memory = int64(size)
	}
	return model, memory
}
