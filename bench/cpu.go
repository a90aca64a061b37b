package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime is what the server and its clients (this process, and the peers that
// have ended) have used of the processors so far. Unlike the clock it hardly
// depends on who else is busy on the machine. ok is false where /proc does not
// tell.
func (s *server) cpuTime() (total time.Duration, ok bool) {
	postmaster := s.running.PID()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := readStat(pid)
		switch {
		case err != nil:
		case pid == postmaster:
			total += stat.own + stat.reaped
		case stat.parent == postmaster:
			total += stat.own
		}
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			return 0, false
		}
		total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return total, total > 0
}

type procStat struct {
	parent      int
	own, reaped time.Duration
}

// tick is the unit of /proc, the same on every Linux that Go runs on.
const tick = 10 * time.Millisecond

func readStat(pid int) (procStat, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	// The second field is the command in parentheses and may hold anything.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var n [4]int
	for i, at := range []int{11, 12, 13, 14} {
		if n[i], err = strconv.Atoi(fields[at]); err != nil {
			return procStat{}, err
		}
	}
	parent, err := strconv.Atoi(fields[1])
	return procStat{parent, time.Duration(n[0]+n[1]) * tick, time.Duration(n[2]+n[3]) * tick}, err
}

// costed runs a measurement and adds the processor time of each of its jobs.
func (b *bench) costed(what string, c *contestant, run func() (worked, error)) (worked, error) {
	before, ok := b.server.cpuTime()
	w, err := run()
	after, _ := b.server.cpuTime()
	if err == nil && ok && w.Jobs > 0 {
		b.add("processor time, "+what, c, "µs a job", float64((after-before).Microseconds())/float64(w.Jobs)).Note = "server and client together"
	}
	return w, err
}
