import { networkAttachmentDefinitions } from '../../../src/api/kinds.ts';
import type { NadRegistry } from '../../../src/api/nad/nad-registry.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import type { Informers } from '../../../src/store/informers.ts';
import { testSettings } from './cluster.ts';

/** The NADs as a node's daemon has them, of a node without a zone. Ask before the informers run. */
export function nadsOf(informers: Informers): NadRegistry {
  const intake = new ObjectIntake(zoneFacts('node1', testSettings.cluster));
  informers
    .of(networkAttachmentDefinitions)
    .onChange((change) => intake.take(networkAttachmentDefinitions.kind, change));
  return intake.registry;
}
