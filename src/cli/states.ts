/** How far something is on nodes, for people. */
import type { NetworkOnNode } from '../views/overview.ts';
import { tone, type Tone } from './output.ts';

export const STATE_TONES: Readonly<Record<NetworkOnNode['state'], Tone>> = {
  Programmed: 'good',
  Committed: 'warning',
  Pending: 'warning',
  Failed: 'bad',
  Unused: 'quiet',
  Unknown: 'quiet',
  Stale: 'bad',
  'no daemon': 'bad',
};

/** `n1,n2 Programmed; n3 Pending: …`. */
export function nodeSummary(
  nodes: readonly Pick<NetworkOnNode, 'node' | 'state' | 'message'>[],
): string {
  const groups = Map.groupBy(nodes, ({ state, message }) =>
    message === undefined ? state : `${state}: ${message}`,
  );
  return [...groups]
    .map(([text, members]) => {
      const [state = 'Unknown'] = text.split(':') as NetworkOnNode['state'][];
      return `${members.map(({ node }) => node).join(',')} ${tone(text, STATE_TONES[state])}`;
    })
    .join('; ');
}
