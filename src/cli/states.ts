/** How far something is on nodes, for people. */
import type { NetworkOnNode } from '../views/overview.ts';
import type { NetworkStateNow } from '../views/status-view.ts';
import { tone, type Tone } from './output.ts';

export const STATE_TONES: Readonly<Record<NetworkStateNow, Tone>> = {
  Programmed: 'good',
  Committed: 'warning',
  Pending: 'warning',
  Deleting: 'warning',
  Failed: 'bad',
  Refused: 'bad',
  Unused: 'quiet',
  Unknown: 'quiet',
  Stale: 'bad',
  'no daemon': 'bad',
};

/** More nodes than these are counted. */
const NAMED = 4;

/** `n1,n2 Programmed; 12 nodes Unused`: why not stands among the problems, or with what waits. */
export function nodeSummary(nodes: readonly Pick<NetworkOnNode, 'node' | 'state'>[]): string {
  return [...Map.groupBy(nodes, ({ state }) => state)]
    .map(([state, members]) => {
      const names = members.map(({ node }) => node);
      const text = names.length > NAMED ? `${names.length} nodes` : names.join(',');
      return `${text} ${tone(state, STATE_TONES[state])}`;
    })
    .join('; ');
}
