/**
 * One line per rule of the CRDs (reference/api.md §1): an object that obeys it, one that breaks it alone, and the message.
 * With `old`, both are updates of that object. Used against our validation and against a real API server.
 */
import { boundCases } from './bound-cases.ts';
import { clusterRules, flatRules, localnetRules } from './cluster-rule-cases.ts';
import { connectRules } from './connect-rule-cases.ts';
import { layer2Rules } from './layer2-rule-cases.ts';
import { layer3Rules, shared, userDefinedNetwork } from './network-rule-cases.ts';
import { metadataRules, otherKinds } from './other-rule-cases.ts';
import { qosRules } from './qos-rule-cases.ts';
import type { RuleCase } from './rule-objects.ts';

export type { RuleCase };

export const ruleCases: readonly RuleCase[] = [
  ...metadataRules,
  ...shared,
  ...userDefinedNetwork,
  ...layer3Rules,
  ...layer2Rules,
  ...clusterRules,
  ...localnetRules,
  ...connectRules,
  ...flatRules,
  ...otherKinds,
  ...qosRules,
  ...boundCases,
];
