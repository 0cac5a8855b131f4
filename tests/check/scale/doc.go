// Package scale breaks shards on purpose: schedules of faults must notice (glasswatch/tests/scale).
package scale
