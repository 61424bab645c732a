/** Labels and annotations that nobody reads, and that look like one that is read. */
import { ACL_LOGGING } from '../api/annotations/acl-logging.ts';
import {
  DEFAULT_ACCESS_LABEL,
  EGRESS_ASSIGNABLE_LABEL,
  NETWORK_NAME,
  NETWORK_NAMES_LABEL,
  PRIMARY_NETWORK_LABEL,
  SECONDARY_GATEWAY,
  SERVICE_POOL,
} from '../api/annotations/network-annotations.ts';
import { DEFAULT_NETWORK_SELECTION, NETWORKS } from '../api/annotations/network-selection.ts';
import {
  OPEN_DEFAULT_PORTS,
  PRIMARY_UDN_IPAM_CLAIM,
  REQUESTED_PRIMARY_UDN,
} from '../api/annotations/pod-annotations.ts';
import { POLICY_FOR } from '../api/annotations/policy-for.ts';
import type { ManifestDocument, ManifestError } from '../api/validation/manifest.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { MULTICAST_ENABLED } from '../model/read/multicast.ts';
import { STATELESS } from '../model/read/policies.ts';
import { about } from './manifest-findings.ts';

/** Keys that people write, and where. */
const WRITTEN: Readonly<Record<'label' | 'annotation', readonly string[]>> = {
  label: [
    PRIMARY_NETWORK_LABEL,
    EGRESS_ASSIGNABLE_LABEL,
    NETWORK_NAMES_LABEL,
    DEFAULT_ACCESS_LABEL,
  ],
  annotation: [
    NETWORKS,
    DEFAULT_NETWORK_SELECTION,
    OPEN_DEFAULT_PORTS,
    REQUESTED_PRIMARY_UDN,
    PRIMARY_UDN_IPAM_CLAIM,
    POLICY_FOR,
    ACL_LOGGING,
    STATELESS,
    MULTICAST_ENABLED,
    SERVICE_POOL,
    SECONDARY_GATEWAY,
  ],
};

/** Written by programs, and a letter away from one that people write. */
const OF_PROGRAMS: readonly string[] = [NETWORK_NAME];

const OTHER = { label: 'annotation', annotation: 'label' } as const;

function remedyFor(place: 'label' | 'annotation', key: string): string | undefined {
  if (WRITTEN[place].includes(key) || OF_PROGRAMS.includes(key)) return undefined;
  const other = OTHER[place];
  if (WRITTEN[other].includes(key)) return `it is one as ${other}: move it there`;
  const nearest = nearestName(key, WRITTEN[place]);
  return nearest === undefined ? undefined : `did you mean "${nearest}"?`;
}

/** Labels and annotations that say nothing, most likely by mistake. */
export const misspeltKeys = (documents: readonly ManifestDocument[]): ManifestError[] =>
  documents.flatMap((document) =>
    (['label', 'annotation'] as const).flatMap((place) =>
      Object.keys(document.object.metadata[`${place}s`] ?? {}).flatMap((key) => {
        const remedy = remedyFor(place, key);
        return remedy === undefined
          ? []
          : about(
              document,
              `${place} ${key} says nothing: ${remedy}`,
              document.positionOf(['metadata', `${place}s`, key]),
            );
      }),
    ),
  );
