// libovsdb as a peer of the benchmark `ovsdb-peers`: see README.md for what is asked of a peer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/go-logr/logr"
	"github.com/ovn-org/libovsdb/cache"
	"github.com/ovn-org/libovsdb/client"
	"github.com/ovn-org/libovsdb/model"
	"github.com/ovn-org/libovsdb/ovsdb"

	"peer/nbdb"
)

const (
	monotonic = 1
	processor = 2
)

// milliseconds of a clock of the system; Go itself does not tell the monotonic one.
func milliseconds(clock uintptr) float64 {
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e)
	}
	return float64(t.Sec)*1e3 + float64(t.Nsec)/1e6
}

// memory gives the kB of a field of /proc/self/status.
func memory(field string) int {
	status, err := os.Open("/proc/self/status")
	check(err)
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if words := strings.Fields(lines.Text()); words[0] == field {
			kb, err := strconv.Atoi(words[1])
			check(err)
			return kb
		}
	}
	panic(field)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(value any) {
	check(json.NewEncoder(os.Stdout).Encode(value))
}

func start(ctx context.Context, remote string) (client.Client, model.ClientDBModel) {
	tables, err := nbdb.FullDatabaseModel()
	check(err)
	quiet := logr.Discard()
	c, err := client.NewOVSDBClient(tables, client.WithEndpoint(remote), client.WithLogger(&quiet))
	check(err)
	check(c.Connect(ctx))
	_, err = c.MonitorAll(ctx)
	check(err)
	return c, tables
}

func load(ctx context.Context, remote string) {
	before := memory("VmRSS:")
	wall, busy := milliseconds(monotonic), milliseconds(processor)
	c, _ := start(ctx, remote)
	wall, busy = milliseconds(monotonic)-wall, milliseconds(processor)-busy
	rows := 0
	for _, table := range c.Cache().Tables() {
		rows += c.Cache().Table(table).Len()
	}
	peak := memory("VmHWM:")
	runtime.GC()
	debug.FreeOSMemory()
	show(map[string]any{"rows": rows, "wall": wall, "processor": busy, "before": before,
		"after": memory("VmRSS:"), "peak": peak})
	runtime.KeepAlive(c)
}

func commit(ctx context.Context, remote string, file string) {
	c, tables := start(ctx, remote)
	full, errs := model.NewDatabaseModel(c.Schema(), tables)
	if len(errs) > 0 {
		check(errs[0])
	}
	text, err := os.ReadFile(file)
	check(err)
	var transactions [][]ovsdb.Operation
	check(json.Unmarshal(text, &transactions))
	walls, busys := []float64{}, []float64{}
	for _, operations := range transactions {
		models := make([]model.Model, len(operations))
		for i := range operations {
			models[i], err = model.CreateModel(full, operations[i].Table, &operations[i].Row, operations[i].UUID)
			check(err)
		}
		wall, busy := milliseconds(monotonic), milliseconds(processor)
		made, err := c.Create(models...)
		check(err)
		replies, err := c.Transact(ctx, made...)
		check(err)
		_, err = ovsdb.CheckOperationResults(replies, made)
		check(err)
		walls = append(walls, milliseconds(monotonic)-wall)
		busys = append(busys, milliseconds(processor)-busy)
	}
	show(map[string]any{"wall": walls, "processor": busys})
}

func notify(ctx context.Context, remote string, count int) {
	c, _ := start(ctx, remote)
	heard := make(chan float64, count)
	c.Cache().AddEventHandler(&cache.EventHandlerFuncs{AddFunc: func(table string, _ model.Model) {
		if table == "Logical_Switch" {
			heard <- milliseconds(monotonic)
		}
	}})
	fmt.Println("ready")
	times := make([]float64, count)
	for i := range times {
		times[i] = <-heard
	}
	show(map[string]any{"heard": times})
}

func main() {
	ctx := context.Background()
	switch {
	case len(os.Args) == 3 && os.Args[1] == "load":
		load(ctx, os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "commit":
		commit(ctx, os.Args[2], os.Args[3])
	case len(os.Args) == 4 && os.Args[1] == "notify":
		count, err := strconv.Atoi(os.Args[3])
		check(err)
		notify(ctx, os.Args[2], count)
	default:
		fmt.Fprintln(os.Stderr, "usage: go-libovsdb load REMOTE | commit REMOTE FILE | notify REMOTE COUNT")
		os.Exit(2)
	}
}
