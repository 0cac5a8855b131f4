// Package cache has the names and signatures of k8s.io/client-go/tools/cache, and behind them glasswatch's layers: code
// written for the one runs on the other once its import is changed.
package cache
