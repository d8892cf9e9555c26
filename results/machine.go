package results

// Machine is where a run took place.
type Machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Memory     int64  `json:"memory"` // bytes
	Go         string `json:"go"`
	FileLimit  uint64 `json:"file_limit"`
}

// Build is the hotsku that ran.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

// A Server is a database or Redis that a run used.
type Server struct {
	Store    string            `json:"store"` // "database", "redis", or "redis node" for a further one
	Brand    string            `json:"brand"` // "MariaDB", "MySQL", "Redis", "Valkey"
	Version  string            `json:"version"`
	Private  bool              `json:"private"`  // started by hotsku, and ended with the run
	Settings map[string]string `json:"settings"` // those that bear on durability, isolation and locking
}
