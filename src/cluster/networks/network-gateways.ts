/** Gateways that secondary networks ask for, from their objects to their NADs (decisions/secondary-gateways.md). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import { SECONDARY_GATEWAY } from '../../api/annotations/network-annotations.ts';
import { renderNad } from '../../api/nad/nad.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { Result } from '../../api/result.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { readSecondaryGateway, type SecondaryGateway } from '../../api/nad/secondary-gateway.ts';
import { withRequested } from './nads.ts';
import type { StatedCondition } from '../../store/status-writer.ts';

/** Whether a Layer2 network has room for a router: what it was made with it keeps, as long as it lives. `known`: the network, if there is one. */
export const hasRoomForRouter = (
  object: NetworkObject,
  known: Pick<NetworkConfig, 'hasRouter'> | undefined,
): boolean =>
  known === undefined
    ? annotationOf(object, SECONDARY_GATEWAY) !== undefined && object.kind !== 'OVNSecondaryNetwork'
    : known.hasRouter === true;

/** What an object asks for; undefined for one that asks for nothing. */
function requested(
  object: NetworkObject,
  config: NetworkConfig,
  settings: ClusterSettings,
): Result<SecondaryGateway> | undefined {
  const asked = annotationOf(object, SECONDARY_GATEWAY);
  if (asked === undefined) return undefined;
  return object.kind === 'OVNSecondaryNetwork'
    ? {
        kind: 'invalid',
        error: `metadata.annotations[${SECONDARY_GATEWAY}]: an OVNSecondaryNetwork has no gateway; make it a UserDefinedNetwork of role Secondary, or remove the annotation`,
      }
    : readSecondaryGateway(asked, config, settings);
}

/**
 * The NAD with the gateway that its object asks for. While that can't be used the NAD keeps the one that it has, as it keeps its pool: a slip of the
 * pen takes no pod its way, and opens none.
 */
export function withGateway(
  nad: NetworkAttachmentDefinition,
  config: NetworkConfig,
  object: NetworkObject,
  existing: NetworkAttachmentDefinition | undefined,
  settings: ClusterSettings,
): NetworkAttachmentDefinition {
  const read = requested(object, config, settings);
  if (read === undefined) return nad;
  const gateway = read.kind === 'value' ? JSON.stringify(read.value) : undefined;
  return withRequested(nad, SECONDARY_GATEWAY, gateway, existing);
}

/** What is wrong with the gateway that an object asks for; undefined also for one whose network can't be made. `known`: the network, if there is one. */
export function gatewayProblem(
  object: NetworkObject,
  settings: ClusterSettings,
  known?: Pick<NetworkConfig, 'hasRouter'>,
): string | undefined {
  if (annotationOf(object, SECONDARY_GATEWAY) === undefined) return undefined;
  const rendered = renderNad(object, object.metadata.namespace ?? 'default', settings, {
    hasRouter: hasRoomForRouter(object, known),
  });
  if (rendered.kind === 'invalid') return undefined;
  const read = requested(object, rendered.value.config, settings);
  return read?.kind === 'invalid' ? read.error : undefined;
}

/** Condition `SecondaryGatewayAccepted` of an object that asks for a gateway; undefined for one that does not. */
export function secondaryGatewayAccepted(
  object: NetworkObject,
  settings: ClusterSettings,
  known: Pick<NetworkConfig, 'hasRouter'> | undefined,
): StatedCondition | undefined {
  if (annotationOf(object, SECONDARY_GATEWAY) === undefined) return undefined;
  const problem = gatewayProblem(object, settings, known);
  const type = 'SecondaryGatewayAccepted';
  return problem === undefined
    ? {
        type,
        status: 'True',
        reason: 'SecondaryGatewayAccepted',
        message:
          'Pods leave the network by its gateway; those that started before the annotation have no routes there.',
      }
    : {
        type,
        status: 'False',
        reason: 'InvalidSecondaryGateway',
        message: `${problem}: until then what was in force before stays in force, if there was anything`,
      };
}
