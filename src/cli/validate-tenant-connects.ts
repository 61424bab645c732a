/** Which NetworkConnects answer each other, from manifests alone. Pure. */
import { objectKey } from '../api/objects.ts';
import type { NetworkConnect } from '../api/types.ts';
import type { ManifestDocument } from '../api/validation/manifest.ts';
import {
  ownNetwork,
  pairKey,
  peerNetwork,
  requestedPair,
} from '../cluster/connect/tenant-connect-plan.ts';

const requestsOf = (documents: readonly ManifestDocument[]): readonly NetworkConnect[] =>
  documents.flatMap(({ object }) =>
    object.kind === 'NetworkConnect' ? [object as NetworkConnect] : [],
  );

const pairOf = (request: NetworkConnect): string => pairKey(requestedPair(request));

/** A line for people about each pair of networks that `documents` ask to connect; NetworkConnects of `stored` count, too. */
export function tenantConnectNotes(
  documents: readonly ManifestDocument[],
  stored: readonly ManifestDocument[],
): readonly string[] {
  const asked = new Map(requestsOf(documents).map((request) => [pairOf(request), request]));
  const all = [...requestsOf(documents), ...requestsOf(stored)];
  return [...asked.values()].map((request) =>
    noteOf(
      request,
      all.find(
        (other) => pairOf(other) === pairOf(request) && ownNetwork(other) === peerNetwork(request),
      ),
    ),
  );
}

function noteOf(request: NetworkConnect, answer: NetworkConnect | undefined): string {
  const [own, peer] = [ownNetwork(request), peerNetwork(request)];
  const name = objectKey(request.metadata);
  if (answer === undefined)
    return `NetworkConnect ${name}: none of these files answers it, with ${peer} as its network and ${own} as its peer`;
  const types = request.spec.connectivity.filter((type) => answer.spec.connectivity.includes(type));
  const both = `NetworkConnects ${name} and ${objectKey(answer.metadata)}`;
  if (types.length === 0)
    return `${both} have no connectivity in common: nothing would be connected`;
  const what = types.map((type) => (type === 'PodNetwork' ? 'pods' : 'services')).toSorted();
  return `${both} would connect ${own} and ${peer} (${what.join(' and ')}), where --tenant-connect-subnets is set`;
}
