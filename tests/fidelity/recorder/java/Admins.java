import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Acts that go through the Admin API, for releases since 2.4. The first argument of each is the list of brokers to ask. */
public class Admins {
  private interface Ask {
    String with(Admin admin) throws Exception;
  }

  private static TopicPartition partition(String name) {
    int dash = name.lastIndexOf('-');
    return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
  }

  private static List<Integer> brokers(String text, String separator) {
    return Arrays.stream(text.split(separator)).map(Integer::valueOf).collect(Collectors.toList());
  }

  private static String ask(String servers, Ask ask) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    properties.put("request.timeout.ms", "2500");
    properties.put("default.api.timeout.ms", "8000");
    try (Admin admin = Admin.create(properties)) {
      return ask.with(admin);
    } catch (ExecutionException error) {
      return "Error: " + error.getCause();
    } catch (TimeoutException error) {
      return "Error: " + error;
    }
  }

  public static String answer(String operation, String[] a) throws Exception {
    switch (operation) {
      case "create":
        return ask(a[0], admin -> {
          Map<Integer, List<Integer>> assignment = new HashMap<>();
          for (String replicas : a[2].split(",")) assignment.put(assignment.size(), brokers(replicas, ":"));
          Map<String, String> configs = new HashMap<>();
          for (int i = 3; i + 1 < a.length; i += 2) configs.put(a[i], a[i + 1]);
          admin.createTopics(List.of(new NewTopic(a[1], assignment).configs(configs))).all().get(9, TimeUnit.SECONDS);
          return "Created";
        });
      case "delete-topic":
        return ask(a[0], admin -> {
          admin.deleteTopics(List.of(a[1])).all().get(9, TimeUnit.SECONDS);
          return "deleted";
        });
      case "config":
        return ask(a[0], admin -> {
          AlterConfigOp set = new AlterConfigOp(new ConfigEntry(a[2], a[3]), AlterConfigOp.OpType.SET);
          admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, a[1]), List.of(set))).all().get(9, TimeUnit.SECONDS);
          return "done";
        });
      case "elect":
        return ask(a[0], admin -> {
          Set<TopicPartition> partitions = a.length > 2 ? Set.of(partition(a[2])) : null;
          ElectionType kind = a[1].equals("unclean") ? ElectionType.UNCLEAN : ElectionType.PREFERRED;
          Map<String, String> results = new TreeMap<>();
          admin.electLeaders(kind, partitions).partitions().get(9, TimeUnit.SECONDS).forEach((partition, error) ->
              results.put(partition.toString(), error.map(e -> "not: " + e.getClass().getSimpleName() + " " + e.getMessage()).orElse("elected")));
          return results.entrySet().stream().map(e -> e.getKey() + "\t" + e.getValue() + "\n").collect(Collectors.joining());
        });
      case "reassign":
        return ask(a[0], admin -> {
          admin.alterPartitionReassignments(Map.of(partition(a[1]), Optional.of(new NewPartitionReassignment(brokers(a[2], ","))))).all().get(9, TimeUnit.SECONDS);
          return "Successfully started";
        });
      case "delete":
        return ask(a[0], admin -> {
          admin.deleteRecords(Map.of(partition(a[1]), RecordsToDelete.beforeOffset(Long.parseLong(a[2])))).all().get(9, TimeUnit.SECONDS);
          return "deleted";
        });
      default:
        throw new IllegalArgumentException("unknown operation: " + operation);
    }
  }
}
