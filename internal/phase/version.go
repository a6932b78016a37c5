package phase

import "fmt"

// Formerly is the flow as it was before a recovery point had its present name: the same functions, under the older
// version's points. While requests of that version may be unfinished, register it next to the flow, so that any process
// can finish them. It panics unless the flow has the point.
func (f *Flow[P, S]) Formerly(version int16, point, formerName string) *Flow[P, S] {
	older := *f
	older.version = version
	older.points = append(older.points[:0:0], f.points...)
	i, err := f.reached(point)
	if err != nil {
		panic(fmt.Sprintf("phase: %v", err))
	}
	older.points[i-1].name = formerName
	return &older
}
