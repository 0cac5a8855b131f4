package usage

import (
	"os"
	"runtime"
	"strings"
)

// Machine is where measurements are made.
type Machine struct {
	CPU   string
	Cores int
	Load  string // the load averages when it was described
}

// Describe returns this machine. What cannot be found out is "unknown".
func Describe() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), Load: "unknown"}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(raw))[:3], " ")
	}
	return m
}
