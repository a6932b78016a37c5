package phase

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// One batch of these registers any number of flows: a process that starts asks the database once, not for each. Rows
// are inserted in the same order everywhere: processes that start at the same time do not deadlock.
const (
	insertFlows = `
	INSERT INTO flows (flow, version, digest)
	SELECT flow, version, digest FROM unnest(@flows::text[], @versions::smallint[], @digests::text[])
	    f (flow, version, digest)
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
	SELECT flow, version
	FROM unnest(@flows::text[], @versions::smallint[], @digests::text[]) f (flow, version, digest)
	JOIN flows registered USING (flow, version)
	WHERE registered.digest <> f.digest
	ORDER BY flow, version`
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
	var flows, digests, flowsOfPoints, digestsOfPoints, names, kinds []string
	var versions, versionsOfPoints, positions []int16
	for _, f := range registered {
		d := f.flowDefinition()
		k, digest := d.key(), d.digest()
		flows, versions, digests = append(flows, k.Flow), append(versions, k.Version), append(digests, digest)
		for i, p := range d.points {
			flowsOfPoints, versionsOfPoints = append(flowsOfPoints, k.Flow), append(versionsOfPoints, k.Version)
			digestsOfPoints, names = append(digestsOfPoints, digest), append(names, p.name)
			positions, kinds = append(positions, int16(i+1)), append(kinds, p.kind)
		}
	}
	all := pgx.StrictNamedArgs{"flows": flows, "versions": versions, "digests": digests}
	batch := &pgx.Batch{}
	batch.Queue(insertFlows, all)
	batch.Queue(insertPoints, pgx.StrictNamedArgs{"flows": flowsOfPoints, "versions": versionsOfPoints,
		"digests": digestsOfPoints, "names": names, "positions": positions, "kinds": kinds})
	var changed []string
	batch.Queue(changedFlows, all).Query(func(rows pgx.Rows) (err error) {
		changed, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (of string, err error) {
			var flow string
			var version int
			err = row.Scan(&flow, &version)
			return fmt.Sprintf("%s version %d", flow, version), err
		})
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
