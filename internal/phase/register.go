package phase

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// One batch of these registers any number of flows: a process that starts asks the database once, not for each. Rows
// are inserted in the same order everywhere: processes that start at the same time do not deadlock. The parameters have
// one element for each point, and every flow has points.
const (
	insertFlows = `
	INSERT INTO flows (flow, version, digest)
	SELECT DISTINCT flow, version, digest FROM unnest(@flows::text[], @versions::smallint[], @digests::text[])
	    p (flow, version, digest)
	ORDER BY flow, version
	ON CONFLICT DO NOTHING`

	// A version that was registered with other points keeps those it has.
	insertPoints = `
	INSERT INTO recovery_points (flow, version, name, position, kind)
	SELECT flow, version, name, position, kind
	FROM unnest(@flows::text[], @versions::smallint[], @digests::text[], @names::text[], @positions::smallint[],
	    @kinds::text[]) p (flow, version, digest, name, position, kind)
	JOIN flows USING (flow, version, digest)
	ORDER BY flow, version, position
	ON CONFLICT DO NOTHING`

	changedFlows = `
	SELECT flow || ' version ' || version
	FROM unnest(@flows::text[], @versions::smallint[], @digests::text[]) p (flow, version, digest)
	JOIN flows registered USING (flow, version)
	WHERE registered.digest <> p.digest`
)

// Register makes flows known to the engine and their recovery points to the
// database. It fails if a port that a flow uses is not connected, and if a
// version's points differ from those already there: requests may stand on them,
// so a change needs a new version.
func (e *Engine) Register(ctx context.Context, flows ...flow) error {
	for _, f := range flows {
		d := f.flowDefinition()
		for _, p := range d.points {
			if p.connected == nil {
				continue
			}
			if err := p.connected(e.adapters); err != nil {
				return fmt.Errorf("register %s version %d: %w", d.name, d.version, err)
			}
		}
	}
	if err := e.registerPoints(ctx, flows); err != nil {
		return err
	}
	for _, f := range flows {
		e.flows[f.flowDefinition().key()] = f
	}
	return nil
}

func (e *Engine) registerPoints(ctx context.Context, registered []flow) error {
	var flows, digests, names, kinds []string
	var versions, positions []int16
	for _, f := range registered {
		d := f.flowDefinition()
		k, digest := d.key(), d.digest()
		for i, p := range d.points {
			flows, versions, digests = append(flows, k.Flow), append(versions, k.Version), append(digests, digest)
			names, positions, kinds = append(names, p.name), append(positions, int16(i+1)), append(kinds, p.kind)
		}
	}
	of := pgx.StrictNamedArgs{"flows": flows, "versions": versions, "digests": digests}
	batch := &pgx.Batch{}
	batch.Queue(insertFlows, of)
	batch.Queue(insertPoints, pgx.StrictNamedArgs{"flows": flows, "versions": versions, "digests": digests,
		"names": names, "positions": positions, "kinds": kinds})
	var changed []string
	batch.Queue(changedFlows, of).Query(func(rows pgx.Rows) (err error) {
		changed, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err := e.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("register the recovery points: %w", err)
	}
	if len(changed) > 0 {
		return fmt.Errorf("the recovery points of %s have changed since it was first deployed: give it a new version",
			changed[0])
	}
	return nil
}
