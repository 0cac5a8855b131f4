// The lessons, in their order.
import listWatch from './01-list-watch.js';
import bookmarks from './02-bookmarks.js';
import deltas from './03-deltas.js';
import tombstones from './04-tombstones.js';
import replace from './05-replace.js';
import resync from './06-resync.js';
import hasSynced from './07-has-synced.js';
import indices from './08-indices.js';
import slowHandler from './09-slow-handler.js';
import dirty from './10-dirty.js';
import backoff from './11-backoff.js';
import fight from './12-fight.js';
import staleCache from './13-stale-cache.js';
import underFire from './14-under-fire.js';

// Their texts are lessons/FILE.en.md and lessons/FILE.zh.md.
export default [
  listWatch, bookmarks, deltas, tombstones, replace, resync, hasSynced, indices, slowHandler, dirty, backoff, fight,
  staleCache, underFire,
].map((lesson, i) => ({ ...lesson, file: `${String(i + 1).padStart(2, '0')}-${lesson.id}` }));
