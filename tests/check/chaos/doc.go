// Package chaos breaks layers on purpose: schedules of faults must notice (glasswatch/tests/chaos).
package chaos
