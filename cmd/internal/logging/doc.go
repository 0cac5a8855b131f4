// Package logging is what every command does about its log: three flags, and one logger behind klog.
//
//	klog.InfoS, klog.FromContext, client-go ──▶ klog ──▶ logr.Logger ─┬─ text: klog's own format
//	                                                                  └─ json: zapr ─▶ zap
//	                                                                        └──▶ standard error, or --log-file
//
// # What is guaranteed
//
//   - All that goes through klog comes out in the one format that was asked for: client-go's lines, too, structured ones
//     and others.
//   - A line of JSON has ts, level, v, caller, msg, then the keys of the call; an error is under err, the logger's name
//     under logger. Object references become {"name":…,"namespace":…}.
//   - A log file is appended to and never truncated.
//
// # What is not
//
//   - klog has one logger for the process: two [Flags.Start] at a time spoil each other.
//   - Files are not rotated.
//
// # Where client-go differs
//
// client-go only ever talks to klog. Components of Kubernetes choose the format with k8s.io/component-base/logs,
// which brings flags, feature gates and a registry of formats; here it is two formats and a switch.
package logging
