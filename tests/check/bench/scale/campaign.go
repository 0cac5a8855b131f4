package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// setup is what is measured at once: some processes of a variant, each with a shard of the objects.
type setup struct {
	name    string // in the raw figures
	title   string // in the tables
	variant string
	members int
	shards  bool // the server knows shards
}

// The setups' names.
const (
	one      = "glasswatch"
	five     = "glasswatch-5"
	fiveOff  = "glasswatch-5-gate-off"
	theirOne = "client-go"
)

// members is how many share the objects, where they are shared.
const members = 5

// setups are in the order in which they run. Those of one server stand together.
var setups = []setup{
	{decoded, "the objects, decoded", decoded, 1, true},
	{decodedShared, "the objects, equal parts shared", decodedShared, 1, true},
	{one, "glasswatch, one process", glasswatch, 1, true},
	{theirOne, "client-go, one process", clientGo, 1, true},
	{five, "glasswatch, five shards", glasswatch, members, true},
	{fiveOff, "glasswatch, five shards, server without", glasswatch, members, false},
}

// alone tells whether a setup is only about the memory of the objects.
func (s setup) alone() bool { return s.variant == decoded || s.variant == decodedShared }

// result is what was measured of a setup.
type result struct {
	setup   setup
	members []memberResult
	server  serverResult
}

// memberResult is one process of it.
type memberResult struct {
	Sync        syncFigures
	Steady      time.Duration // how long the changes were watched
	SteadyCPU   time.Duration
	SteadyBytes int64
	Events      int64
	Foreign     int64 // objects of other shards, the initial ones included
	P50, P99    time.Duration
	Held        held
	Resident    uint64 // after the changes
	Peak        uint64
}

// serverResult is of the server meanwhile.
type serverResult struct {
	SyncCPU, SteadyCPU time.Duration
	Steady             time.Duration
	Changes            int64
	Resident           uint64
}

// campaign is a run of all setups.
type campaign struct {
	options
	log     io.Writer
	results []result
	filled  ready // of the last server
}

// play runs the setups once a round. Servers with and without shards are two processes, one after the other.
func (c *campaign) play(ctx context.Context) error {
	for round := range c.rounds {
		for first := 0; first < len(setups); {
			next := first
			for next < len(setups) && setups[next].shards == setups[first].shards {
				next++
			}
			if err := c.onServer(ctx, setups[first:next]); err != nil {
				return fmt.Errorf("round %d: %w", round+1, err)
			}
			first = next
		}
	}
	return nil
}

// onServer runs setups on a server that is filled for them.
func (c *campaign) onServer(ctx context.Context, setups []setup) (err error) {
	task := serverTask{Objects: c.n, Rate: c.rate, History: c.history, Shards: setups[0].shards}
	server, err := start(ctx, serveFlag, task)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.kill())
		} else {
			err = server.end()
		}
	}()
	if err := server.ask("fill", &c.filled); err != nil {
		return err
	}
	took, each := c.filled.Took.Round(time.Second/10), c.filled.Live/uint64(c.n)
	fmt.Fprintf(c.log, "server: %d objects in %s, %d B each\n", c.n, took, each)
	for _, s := range setups {
		r, err := c.one(ctx, server, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		c.results = append(c.results, r)
		fmt.Fprintf(c.log, "%s: synced in %s\n", s.name, r.wall().Round(time.Second/100))
	}
	return nil
}

// one runs a setup: its processes sync under load, watch the changes, and must hold what the server holds at last.
func (c *campaign) one(ctx context.Context, server *child, s setup) (r result, err error) {
	crew := crew{}
	defer func() {
		if err != nil {
			err = errors.Join(err, crew.kill())
		} else {
			err = crew.end()
		}
	}()
	for i := range s.members {
		task := memberTask{Variant: s.variant, URL: c.filled.URL, Shard: i, Shards: s.members}
		member, err := start(ctx, measureFlag, task)
		if err != nil {
			return r, err
		}
		crew = append(crew, member)
	}
	if _, err := all[struct{}](crew, "ready"); err != nil {
		return r, err
	}
	if err := server.ask("tidy", new(uint64)); err != nil {
		return r, err
	}
	if !s.alone() {
		if err := server.ask("load", &struct{}{}); err != nil {
			return r, err
		}
	}
	r = result{setup: s, members: make([]memberResult, s.members)}
	if err := c.phases(ctx, server, crew, &r); err != nil {
		return r, err
	}
	if err := server.ask("rest", &struct{}{}); err != nil {
		return r, err
	}
	if err := c.settle(ctx, server, crew); err != nil {
		return r, err
	}
	holds, err := all[held](crew, "hold")
	for i := range holds {
		r.members[i].Held = holds[i]
	}
	return r, err
}

// phases measures the sync, and then the changes.
func (c *campaign) phases(ctx context.Context, server *child, crew crew, r *result) error {
	var atServer, atServerSynced serverFigures
	if err := server.ask("usage", &atServer); err != nil {
		return err
	}
	syncs, err := all[syncFigures](crew, "sync")
	if err != nil {
		return err
	}
	if err := server.ask("usage", &atServerSynced); err != nil {
		return err
	}
	if err := c.pause(ctx, r, c.calm); err != nil {
		return err
	}
	calmed, atServerCalmed, err := figuresOf(server, crew)
	if err != nil {
		return err
	}
	if err := c.pause(ctx, r, c.steady); err != nil {
		return err
	}
	over, atServerOver, err := figuresOf(server, crew)
	if err != nil {
		return err
	}
	for i := range r.members {
		r.members[i] = memberResult{
			Sync: syncs[i], Steady: over[i].At.Sub(calmed[i].At), SteadyCPU: over[i].CPU - calmed[i].CPU,
			SteadyBytes: over[i].Bytes - calmed[i].Bytes, Events: over[i].Events - calmed[i].Events,
			Foreign: over[i].Foreign, P50: over[i].P50, P99: over[i].P99,
			Resident: over[i].Resident, Peak: over[i].Peak,
		}
	}
	r.server = serverResult{
		SyncCPU: atServerSynced.CPU - atServer.CPU, SteadyCPU: atServerOver.CPU - atServerCalmed.CPU,
		Steady: atServerOver.At.Sub(atServerCalmed.At), Changes: atServerOver.Changes - atServerCalmed.Changes,
		Resident: atServerOver.Resident,
	}
	return nil
}

// pause does nothing for a while, or not even that if there are no changes to be watched.
func (c *campaign) pause(ctx context.Context, r *result, d time.Duration) error {
	if r.setup.alone() {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle returns once the processes together hold what the server holds: each object once, in its last version.
func (c *campaign) settle(ctx context.Context, server *child, crew crew) error {
	var want state
	if err := server.ask("state", &want); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.settling)
	defer cancel()
	tick := time.NewTicker(c.settling / 200)
	defer tick.Stop()
	for {
		states, err := all[state](crew, "state")
		if err != nil {
			return err
		}
		var got state
		for _, s := range states {
			got = got.plus(s)
		}
		if got == want {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the stores do not hold what the server holds: %d objects, sum %x, not %d, sum %x",
				got.Objects, got.Sum, want.Objects, want.Sum)
		}
	}
}
