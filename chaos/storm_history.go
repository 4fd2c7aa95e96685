package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"
)

// spoken is a revision of a schedule, as the ledger's database noted it.
type spoken struct {
	key                  string
	revision, generation int64
	number               int64 // of the change; of a deletion, that of the content before
	said                 content
	deleted              bool
	from, changed        time.Time // the watermark with which it began; the commit's own time
}

// The database notes each revision of a schedule itself: of a new one when its position is
// inserted, and of another when the content is, which is after the position.
const (
	stormColumns  = `job_id, revision, generation, expr, until, data, deleted, watermark, changed`
	stormPostgres = `
CREATE TABLE public.chaos_schedules (
	n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job_id text, revision bigint, generation bigint, expr text, until bigint, data text,
	deleted boolean, watermark bigint, changed bigint);
CREATE FUNCTION public.chaos_schedule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.chaos_schedules (` + stormColumns + `)
	SELECT s.job_id, p.revision, s.generation, s.expr, extract(epoch FROM s.until) * 1000000, convert_from(s.data, 'UTF8'),
		s.deleted_at IS NOT NULL, extract(epoch FROM p.watermark) * 1000000, extract(epoch FROM s.changed_at) * 1000000
	FROM cronce.schedules s JOIN cronce.positions p ON p.id = s.id WHERE s.id = NEW.id;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER chaos_schedule AFTER INSERT OR UPDATE OF expr ON cronce.schedules
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.chaos_schedule()`

	stormSQLite = `
CREATE TABLE chaos_schedules (
	n INTEGER PRIMARY KEY, job_id TEXT, revision INTEGER, generation INTEGER, expr TEXT, until INTEGER, data TEXT,
	deleted INTEGER, watermark INTEGER, changed INTEGER);
CREATE TRIGGER chaos_spoken AFTER INSERT ON positions BEGIN ` + speakSQLite + ` END;
CREATE TRIGGER chaos_respoken AFTER UPDATE OF expr ON schedules BEGIN ` + speakSQLite + ` END`

	speakSQLite = `INSERT INTO chaos_schedules (` + stormColumns + `)
		SELECT s.job_id, p.revision, s.generation, s.expr, s.until, CAST(s.data AS TEXT), s.deleted_at IS NOT NULL, p.watermark, s.changed_at
		FROM schedules s JOIN positions p ON p.id = s.id WHERE s.id = NEW.id;`
)

// spoken returns the revisions of all schedules, those of each key in their order.
func (f *fleet) spoken(ctx context.Context) (list []spoken, err error) {
	err = f.database(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT `+stormColumns+` FROM chaos_schedules ORDER BY job_id, n`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s spoken
			var id string
			var until sql.NullInt64
			var data sql.NullString
			var from, changed int64
			if err := rows.Scan(&id, &s.revision, &s.generation, &s.said.expr, &until, &data, &s.deleted, &from, &changed); err != nil {
				return err
			}
			s.key, s.from, s.changed = strings.TrimPrefix(id, stormTemplate+":"), time.UnixMicro(from).UTC(), time.UnixMicro(changed).UTC()
			if until.Valid {
				s.said.until = time.UnixMicro(until.Int64).UTC()
			}
			if s.number, err = numberIn([]byte(data.String)); err != nil {
				return err
			}
			list = append(list, s)
		}
		return rows.Err()
	})
	return list, err
}

// numberIn returns the number of the change in data or in a call's body.
func numberIn(text []byte) (int64, error) {
	var v struct{ Number int64 }
	if len(text) == 0 {
		return 0, nil
	}
	err := json.Unmarshal(text, &v)
	return v.Number, err
}
