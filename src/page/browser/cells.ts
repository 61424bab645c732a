/** How a pair looks in the matrix, and how it reads: a letter and a word beside each colour. Pure. */
import type { Pair, PairProof } from '../pairs.ts';
import type { WayKind } from '../../reach/way.ts';

export interface CellLook {
  /** Class of the cell. */
  readonly look: string;
  readonly sign: string;
  readonly words: string;
}

export const KINDS: Readonly<Record<WayKind, { readonly sign: string; readonly words: string }>> = {
  connection: { sign: 'C', words: 'connection' },
  namespace: { sign: 'N', words: 'networks of one namespace' },
  physical: { sign: 'L', words: 'one physical network' },
  access: { sign: 'A', words: 'access from the default network' },
  'allowed service': { sign: 'S', words: 'service that all may use' },
  'open port': { sign: 'P', words: 'open ports of a pod' },
  exposed: { sign: 'E', words: 'node port, external address or host port' },
  leaves: { sign: '→', words: 'outside of the cluster' },
};

export const PROOFS: Readonly<
  Record<PairProof, { readonly sign: string; readonly words: string }>
> = {
  proved: { sign: '✓', words: 'proved' },
  joined: { sign: '', words: 'joined as a whole: nothing to prove' },
  violated: { sign: '✗', words: 'violated' },
  undecided: { sign: '?', words: 'not decided' },
  'other objects': { sign: '≠', words: 'objects were others when it was proved' },
};

/** The widest way decides the colour; others are named. */
const ORDER: readonly WayKind[] = [
  'connection',
  'namespace',
  'physical',
  'access',
  'open port',
  'exposed',
  'allowed service',
  'leaves',
];

const isWrong = (proof: PairProof | undefined): proof is PairProof =>
  proof === 'violated' || proof === 'undecided' || proof === 'other objects';

export function lookOf({ from, to, by, proof }: Pair): CellLook {
  const kinds = ORDER.filter((kind) => by.some((one) => one.kind === kind));
  const proved = proof === undefined ? [] : [PROOFS[proof].words];
  const [first] = kinds;
  const sign = first === undefined ? '·' : `${KINDS[first].sign}${kinds.length > 1 ? '+' : ''}`;
  const ways = first === undefined ? ['apart'] : kinds.map((kind) => KINDS[kind].words);
  const look = first === undefined ? 'apart' : first.replace(' ', '-');
  if (from === to && first === undefined)
    return { look: 'self', sign: '', words: `${from} itself` };
  return {
    look: isWrong(proof) ? `${look} ${proof.replace(' ', '-')}` : look,
    sign: isWrong(proof)
      ? PROOFS[proof].sign
      : first === undefined && proof === 'proved'
        ? '✓'
        : sign,
    words: [`${from} to ${to}: ${ways.join(', ')}`, ...proved].join('; '),
  };
}
