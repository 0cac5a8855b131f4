// Package logging sets up the log of every command: three flags, and one logger behind klog.
//
//	klog.InfoS, klog.FromContext, client-go ──▶ klog ──▶ logr.Logger ─┬─ text: klog's own format
//	                                                                  └─ json: zapr ─▶ zap
//	                                                                        └──▶ standard error, or --log-file
//
// # What is guaranteed
//
//   - All lines of klog come out in the requested format, client-go's included, structured ones and others.
//   - A line of JSON has ts, level, v, caller, msg, then the keys of the call; an error is under err, the logger's name
//     under logger. Object references become {"name":…,"namespace":…}.
//   - A log file is appended to and never truncated.
//
// # What is not
//
//   - klog has one logger for the process, so only one [Flags.Start] may be active.
//   - Files are not rotated.
//
// # Where client-go differs
//
// client-go logs only to klog. Components of Kubernetes choose the format with k8s.io/component-base/logs, which has
// flags, feature gates and a registry of formats. Here there are two formats and a flag.
package logging
